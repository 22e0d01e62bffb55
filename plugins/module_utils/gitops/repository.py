# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Git: a branch of a remote repository, fetched into a new scratch repository without a work tree, read and added to.

No existing clone or work tree is touched, and nothing is checked out: files are read as objects, byte by byte, and commits are made of objects, so
that no filter, attribute, hook or symbolic link of a repository has an effect. Nothing is pushed with force. Git finds its credentials itself
(credential helper, GIT_ASKPASS, ssh agent); it runs without a terminal, so it fails instead of prompting.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import SAFE_NAME
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.processes import run_bounded
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import unencrypted

# Variables of the calling process, for example a hook, that point git to another repository. Git's configuration stays: credentials may be in it.
CALLER_VARIABLES = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_NAMESPACE",
    "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_TRACE", "GIT_CURL_VERBOSE", "GIT_TEMPLATE_DIR",
)  # fmt: skip
REGULAR = ("100644", "100755")
# How often a commit is made again because another commit was pushed meanwhile.
ATTEMPTS = 8
# The plan of a hundred thousand partitions has less. A small commit can hold a file that is far larger.
MAX_FILE_BYTES = 1 << 28
# Lines that git prints whenever a remote does not answer.
_ADVICE = ("hint:", "Please make sure you have the correct access rights", "and the repository exists.")
_USER = re.compile(r"(?<=://)[^/@\s]+@")
MAX_OUTPUT_LENGTH = 600
NO_GIT = "git is not installed on the host that runs Ansible: install git 2.34 or newer, and have it on the PATH"


class GitError(RecoveryError):
    """A git command failed, or a repository cannot be used; the text has git's message and the remedy."""


class PushRejectedError(GitError):
    """The remote rejected a push."""


@dataclass(frozen=True)
class Remote:
    """A remote repository, and how git connects to it.

    timeout                  seconds for each git command
    author                   name and address of commits, empty for git's own configuration
    signing_key              ssh key that signs commits, empty for git's own configuration
    allow_plaintext_secrets  whether git may send its credentials unencrypted to another machine
    """

    url: str
    timeout: float = 60.0
    author: tuple[str, str] = ("", "")
    signing_key: str = ""
    allow_plaintext_secrets: bool = False

    def check(self) -> None:
        """Raise GitError if git could read the address as an option, or if it holds a password, which other processes could see."""
        if not self.url or self.url.startswith("-") or not self.url.isprintable():
            raise GitError(f"repository {self.url!r} is not the address of a git repository: name a URL or a path")
        try:
            password = urlsplit(self.url).password
        except ValueError as error:
            raise GitError(f"repository: not a valid URL ({error})") from error
        if password is not None:
            raise GitError(
                f"repository {redacted_line(self.url)} holds a password, which other processes could see: "
                "leave it out, and give it to git through a credential helper, GIT_ASKPASS or an ssh key"
            )


def redacted_line(text: str) -> str:
    """Return git's output on one line, without user names and passwords in URLs, and with a remedy if git refused an unencrypted URL."""
    lines = [line.strip() for line in text.replace("\r", "\n").splitlines() if line.strip() and not line.startswith(_ADVICE)]
    line = printable(_USER.sub("", "; ".join(lines)))[:MAX_OUTPUT_LENGTH]
    return f"{line}; {unencrypted.REMEDY}" if unencrypted.NOT_ALLOWED.search(line) else line


class Repository:
    """A bare scratch repository of one remote. `branch`: the protected branch, empty for the remote's HEAD; `tip`: the id of its fetched commit.

    The constructor fetches the branch. It and all methods raise GitError if git fails or takes longer than the remote's `timeout`.
    """

    def __init__(self, folder: Path, remote: Remote, branch: str) -> None:
        self._folder = folder
        self._remote = remote
        self._prepared = False
        self._checked_url = ""
        remote.check()
        if not remote.allow_plaintext_secrets:
            self._checked_url = self._rewritten_url()
        self.branch = branch
        if branch:
            self.check_branch(branch)
        else:
            self.branch = self._default_branch()
        self.tip = self.fetch()

    def fetch(self) -> str:
        """Fetch the protected branch again, set `tip` to its commit id and return it. Raises GitError if the remote does not have it."""
        tip = self.fetch_branch(self.branch)
        if tip is None:
            raise GitError(
                f"the repository {redacted_line(self._remote.url)} has no branch {self.branch}: name the protected branch with kafka_recovery_git_branch, "
                "and push a first commit if it has none"
            )
        self.tip = tip
        return tip

    def fetch_branch(self, branch: str) -> str | None:
        """Fetch a branch and return the id of its last commit, None if the remote does not have it."""
        self.check_branch(branch)
        commit = self._advertised(f"refs/heads/{branch}").get(f"refs/heads/{branch}")
        if commit is None:
            return None
        self._prepare(len(commit))
        local = f"refs/remotes/origin/{branch}"
        self.run(
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "origin", f"+refs/heads/{branch}:{local}"
        )
        return self.run("rev-parse", "--verify", "--quiet", f"{local}^{{commit}}").decode().strip()

    def check_branch(self, name: str) -> None:
        """Raise GitError if this cannot be the name of a branch, or if git could read it as an option."""
        if name.startswith("-") or not name.isprintable() or self._run("check-ref-format", f"refs/heads/{name}").returncode:
            raise GitError(f"{name!r} cannot be the name of a branch: see git check-ref-format")

    def list_files(self, commit: str, folder: str) -> dict[str, str]:
        """Return the files below `folder` at a commit: path → id of the content, an empty text for links and submodules."""
        rows = self.run("ls-tree", "-r", "-z", "--full-tree", commit, "--", f"{folder}/").decode(errors="surrogateescape").split("\0")
        found = {}
        for row in filter(None, rows):
            entry, _tab, path = row.partition("\t")
            mode, _kind, identity = entry.split()
            found[path] = identity if mode in REGULAR else ""
        return found

    def content(self, identity: str) -> bytes:
        """Return the content of a file. `identity`: an id that `list_files` returned. Raises GitError if it is larger than any plan."""
        size = int(self.run("cat-file", "-s", identity))
        if size > MAX_FILE_BYTES:
            raise GitError(f"a file of the repository ({identity[:12]}) has {size} bytes, and at most {MAX_FILE_BYTES} are read: remove it")
        return self.run("cat-file", "blob", identity)

    def commit(self, parent: str, files: Mapping[str, bytes], message: str) -> str:
        """Make a commit that adds files (content by path) to `parent`, and return its id. Raises GitError if a path is in use."""
        index = {"GIT_INDEX_FILE": str(self._folder / "scratch.index")}
        self.run("read-tree", parent, environment=index)
        for path, content in files.items():
            identity = self.run("hash-object", "-w", "--stdin", "--no-filters", given=content).decode().strip()
            try:
                self.run("update-index", "--add", "--cacheinfo", f"100644,{identity},{path}", environment=index)
            except GitError as error:
                raise GitError(
                    f"{path} cannot be put into the repository, something else has that name on {self.branch}: {error}"
                ) from error
        tree = self.run("write-tree", environment=index).decode().strip()
        sign = ["-S"] if self._remote.signing_key or self._configured("commit.gpgSign", boolean=True) == "true" else []
        return self.run("commit-tree", tree, "-p", parent, *sign, given=message.encode(), environment=self._author()).decode().strip()

    def push(self, commit: str, branch: str) -> list[str]:
        """Push a commit to a branch, which must be new or an ancestor of it. Returns the remote's messages, one for each line.

        Raises PushRejectedError if the remote cannot be reached, or rejects the push, for example because the branch has moved on.
        """
        self.check_branch(branch)
        done = self._run("push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", "origin", f"{commit}:refs/heads/{branch}")
        output = done.stderr.decode(errors="replace")
        if done.returncode:
            refused = [line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("!")]
            raise PushRejectedError(redacted_line("\n".join([*(line.rpartition("\t")[2] for line in refused), output])))
        return [
            redacted_line(line.removeprefix("remote:"))
            for line in output.splitlines()
            if line.startswith("remote:") and line.removeprefix("remote:").strip()
        ]

    def run(self, *arguments: str, given: bytes = b"", environment: Mapping[str, str] | None = None) -> bytes:
        """Run a git command and return its output. Raises GitError if it fails.

        `given`: its standard input. `environment`: variables in addition to those of this process.
        """
        done = self._run(*arguments, given=given, environment=environment)
        if done.returncode:
            raise GitError(f"git {_command(('git', *arguments))} failed: {redacted_line(done.stderr.decode(errors='replace'))}")
        return done.stdout

    def attempt(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Run a git command that may fail, and return its exit code and output. Raises GitError only if git cannot run or takes too long."""
        return self._run(*arguments)

    def _rewritten_url(self) -> str:
        """Return the address that git uses (see url.<base>.insteadOf). Raises GitError if git would send its credentials there unencrypted."""
        done = self._run("ls-remote", "--get-url", "--", self._remote.url)  # sends no request
        url = done.stdout.decode(errors="replace").strip() if not done.returncode else self._remote.url
        if problem := unencrypted.refusal(url):
            raise GitError(f"repository {redacted_line(self._remote.url)}: {problem}")
        return url

    def _advertised(self, *references: str) -> dict[str, str]:
        """Return the commits of these references of the remote, and the branch that HEAD names under `HEAD names`."""
        done = self._run("ls-remote", "--symref", "--", self._remote.url, *references)
        if done.returncode:
            raise GitError(
                f"the repository {redacted_line(self._remote.url)} cannot be read: {redacted_line(done.stderr.decode(errors='replace'))}; "
                "check kafka_recovery_git_repository, the network, and that git finds credentials without a prompt"
            )
        rows = [line.split("\t") for line in done.stdout.decode(errors="replace").splitlines() if "\t" in line]
        names = {name: value for value, name in rows if not value.startswith("ref: ")}
        return names | {f"{name} names": value.removeprefix("ref: ") for value, name in rows if value.startswith("ref: ")}

    def _default_branch(self) -> str:
        found = self._advertised("HEAD", "refs/heads/*")
        if not any(name.startswith("refs/heads/") for name in found):
            raise GitError(f"the repository {redacted_line(self._remote.url)} has no branch: push a first commit to its protected branch")
        named = found.get("HEAD names", "")
        if not named.startswith("refs/heads/"):
            raise GitError(
                f"the HEAD of the repository {redacted_line(self._remote.url)} is detached, so it names no branch: "
                "name the protected branch with kafka_recovery_git_branch"
            )
        return named.removeprefix("refs/heads/")

    def _prepare(self, digits: int) -> None:
        if not self._prepared:
            self.run("init", "--quiet", "--bare", "--template=", f"--object-format={'sha256' if digits == 64 else 'sha1'}")
            self.run("config", "remote.origin.url", self._remote.url)
            self._prepared = True

    def _configured(self, name: str, boolean: bool = False) -> str:
        done = self._run("config", *(["--type=bool"] if boolean else []), "--get", name)
        return done.stdout.decode(errors="replace").strip() if not done.returncode else ""

    def _author(self) -> dict[str, str]:
        """Return the identity of commits: of the options, else of git's own configuration, else the collection's name."""
        name = self._remote.author[0] or os.environ.get("GIT_AUTHOR_NAME") or self._configured("user.name") or "kafka_recovery"
        address = (
            self._remote.author[1] or os.environ.get("GIT_AUTHOR_EMAIL") or self._configured("user.email") or "kafka-recovery@localhost"
        )
        return {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in (("NAME", name), ("EMAIL", address))}

    def _run(self, *arguments: str, given: bytes = b"", environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
        keep = {name: value for name, value in os.environ.items() if name not in CALLER_VARIABLES and not name.startswith("GIT_TRACE")}
        quiet = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never"}
        quiet |= {"GIT_LITERAL_PATHSPECS": "1", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_CEILING_DIRECTORIES": str(self._folder.parent)}
        place = {"GIT_DIR": str(self._folder), **(environment or {})} if self._prepared or arguments[0] == "init" else {}
        settings = ["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.quotePath=false", "-c", "log.showSignature=false"]
        if self._checked_url:
            settings += unencrypted.settings(self._checked_url)
            keep = unencrypted.environment(keep, self._checked_url)
        if self._remote.signing_key:
            settings += ["-c", "gpg.format=ssh", "-c", f"user.signingKey={self._remote.signing_key}"]
        return _bounded(["git", *settings, *arguments], given, {**keep, **quiet, **place}, self._folder, self._remote.timeout)


def _bounded(
    argv: Sequence[str], given: bytes, environment: Mapping[str, str], folder: Path, seconds: float
) -> subprocess.CompletedProcess[bytes]:
    try:
        return run_bounded(argv, given, environment, folder, seconds)
    except FileNotFoundError as error:
        raise GitError(NO_GIT) from error
    except OSError as error:
        raise GitError(f"git cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(
            f"git {_command(argv)} took longer than {seconds:g} s: check the network, or raise kafka_recovery_git_timeout"
        ) from error


def _command(argv: Sequence[str]) -> str:
    rest = iter(argv[1:])
    return next((argument for argument in rest if not (argument == "-c" and next(rest, None))), "")


def check_folder(name: str) -> str:
    """Return `name` if it can be a folder of the repository (`a/b`). Raises GitError for a path that leads out of it or could be an option."""
    if not name or not all(SAFE_NAME.fullmatch(part) for part in name.split("/")):
        raise GitError(
            f"directory {name!r} cannot be a folder of the repository: use letters, digits, dots, dashes and underscores, a letter or digit first, "
            "parts divided by /"
        )
    return name


@contextmanager
def scratch(remote: Remote, branch: str, within: str | None = None) -> Iterator[Repository]:
    """Yield a scratch repository with the protected branch fetched; it is removed when the context ends. Raises GitError if it cannot be fetched.

    `within`: the folder for it, None for the system's folder of temporary files.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-recovery-git-", dir=within) as folder:
        yield Repository(Path(folder), remote, branch)
