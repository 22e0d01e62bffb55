# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Git, on real repositories: what is fetched, committed and pushed, and what each refusal says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from git_remotes import Forge, git

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import (
    GitError,
    PushRejectedError,
    Remote,
    Repository,
    check_folder,
    redacted_line,
    scratch,
)


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path / "forge")


@pytest.fixture(autouse=True)
def unconfigured_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Git without configuration: no user.name, and an empty home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def opened(forge: Forge, branch: str = "", **options: object) -> Iterator[Repository]:
    with scratch(Remote(forge.url, **options), branch, str(forge.folder)) as repository:  # type: ignore[arg-type]
        yield repository


def refusal(url: str, branch: str = "", timeout: float = 60) -> str:
    with pytest.raises(GitError) as caught, scratch(Remote(url, timeout), branch):
        pass
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_a_commit_is_added_to_the_branch_and_nothing_else_changes(forge: Forge) -> None:
    forge.ada.write({"inventory.yml": "x", "recoveries/old/README.md": "old", ".gitattributes": "* text eol=crlf\n"})
    content = b"one\r\ntwo\n\x00\xff"
    with opened(forge) as repository:
        assert repository.branch == "main"
        commit = repository.commit(repository.tip, {"recoveries/1/plans/east.json": content}, "Recovery 1\n")
        repository.push(commit, "recovery/1")
        assert repository.list_files(commit, "recoveries").keys() == {"recoveries/old/README.md", "recoveries/1/plans/east.json"}
    assert forge.show("recovery/1", "recoveries/1/plans/east.json") == content, "no filter of the repository had a say"
    assert set(forge.names("recovery/1")) - set(forge.names()) == {"recoveries/1/plans/east.json"}
    assert git(Path(forge.url), "log", "-1", "--format=%an <%ae> %cn <%ce>", "recovery/1") == " ".join(
        ["kafka_recovery <kafka-recovery@localhost>"] * 2
    )
    assert not list(forge.folder.glob("kafka-recovery-git-*")), "nothing is left behind"


def test_the_author_of_commits_is_that_of_the_options_else_of_git(forge: Forge, tmp_path: Path) -> None:
    (tmp_path / "gitconfig").write_text("[user]\nname = Known\nemail = known@example.com\n")
    for author, expected in ((("", ""), "Known <known@example.com>"), (("Named", "named@example.com"), "Named <named@example.com>")):
        with opened(forge, author=author) as repository:
            commit = repository.commit(repository.tip, {"x": b""}, "x")
            assert repository.run("log", "-1", "--format=%cn <%ce>", commit).decode().strip() == expected


def test_the_repository_of_the_calling_process_gets_no_commit(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    """As from a hook: git says there with variables which repository is meant."""
    elsewhere = forge.person("elsewhere").clone
    before = git(elsewhere, "count-objects")
    monkeypatch.setenv("GIT_DIR", str(elsewhere / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(elsewhere / ".git" / "index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(elsewhere))
    with opened(forge) as repository:
        repository.push(repository.commit(repository.tip, {"x": b"content of its own"}, "x"), "other")
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name)
    assert git(elsewhere, "count-objects") == before
    assert git(elsewhere, "status", "--porcelain") == ""


def test_a_push_that_the_remote_declines_has_its_message(forge: Forge) -> None:
    forge.hook("pre-receive", "echo 'GL-HOOK-ERR: main is protected' >&2; exit 1")
    with opened(forge) as repository:
        commit = repository.commit(repository.tip, {"x": b""}, "x")
        with pytest.raises(PushRejectedError, match=r"pre-receive hook declined.*GL-HOOK-ERR: main is protected"):
            repository.push(commit, "main")
    assert forge.names() == []


def test_the_messages_of_the_remote_are_returned(forge: Forge) -> None:
    forge.hook("post-receive", "echo 'Create a pull request by visiting:' >&2; echo '  https://forge.example.com/new' >&2")
    with opened(forge) as repository:
        messages = repository.push(repository.commit(repository.tip, {"x": b""}, "x"), "recovery/1")
    assert messages == ["Create a pull request by visiting:", "https://forge.example.com/new"]


def test_a_diverged_branch_is_never_overwritten(forge: Forge) -> None:
    with opened(forge) as repository:
        ours = repository.commit(repository.tip, {"x": b"ours"}, "x")
        theirs = forge.ada.write({"x": "theirs"})
        with pytest.raises(PushRejectedError, match=r"fetch first|non-fast-forward"):
            repository.push(ours, "main")
        assert forge.tip() == theirs
        assert repository.fetch() == theirs


def test_a_detached_head_and_an_empty_repository_name_no_branch(forge: Forge, tmp_path: Path) -> None:
    git(Path(forge.url), "update-ref", "--no-deref", "HEAD", forge.tip())
    assert "is detached" in refusal(forge.url) and "kafka_recovery_git_branch" in refusal(forge.url)
    with opened(forge, "main") as repository:
        assert repository.tip == forge.tip()
    git(tmp_path, "init", "--quiet", "--bare", "empty.git")
    assert "has no branch: push a first commit" in refusal(str(tmp_path / "empty.git"))


def test_an_unknown_branch_and_an_unreachable_remote_are_named(forge: Forge, tmp_path: Path) -> None:
    assert "has no branch nowhere: name the protected branch with kafka_recovery_git_branch" in refusal(forge.url, "nowhere")
    assert "cannot be read" in refusal(str(tmp_path / "nowhere.git"))
    text = refusal("http://user@127.0.0.1:9/recoveries.git")
    assert "http://127.0.0.1:9/recoveries.git cannot be read" in text and "check kafka_recovery_git_repository, the network" in text


@pytest.mark.parametrize("url", ["", "--upload-pack=touch /tmp/x", "a\nb", "https://[", "ext::sh -c 'touch %S'"])
def test_hostile_addresses_are_refused(url: str) -> None:
    assert "repository" in refusal(url)


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    text = refusal("https://ada:s3cret@git.example.com/recoveries.git")
    assert "holds a password" in text and "GIT_ASKPASS" in text
    assert "s3cret" not in text
    assert "s3cret" not in redacted_line("fatal: unable to access 'https://x:s3cret@git.example.com/'")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["--upload-pack=x", "-d", "../x", "a..b", "a b", "x.lock", "a\x1b", "", "@{-1}", "a~1"])
def test_hostile_branches_are_refused(forge: Forge, name: str) -> None:
    with opened(forge) as repository:
        commit = repository.commit(repository.tip, {"x": b""}, "x")
        for refused in (lambda: repository.push(commit, name), lambda: repository.fetch_branch(name)):
            with pytest.raises(GitError, match="cannot be the name of a branch"):
                refused()
    assert git(Path(forge.url), "for-each-ref", "--format=%(refname)") == "refs/heads/main"


@pytest.mark.parametrize("name", ["../x", "/etc", "", "a//b", ".git", "a/.git/hooks", "--upload-pack=x", "a/../b", "a\nb"])
def test_hostile_folders_are_refused(name: str) -> None:
    with pytest.raises(GitError, match="cannot be a folder of the repository"):
        check_folder(name)


def test_a_link_does_not_count_as_a_file_nor_a_file_as_a_folder(forge: Forge, tmp_path: Path) -> None:
    forge.ada.pull()
    (forge.ada.clone / "recoveries").mkdir()
    (forge.ada.clone / "recoveries" / "link.json").symlink_to("/etc/passwd")
    forge.ada.write({"other": "a file"})
    with opened(forge) as repository:
        assert repository.list_files(repository.tip, "recoveries") == {"recoveries/link.json": ""}
        with pytest.raises(GitError, match="other/1 cannot be put into the repository, something else has that name on main"):
            repository.commit(repository.tip, {"other/1": b""}, "x")


@pytest.mark.slow
def test_git_that_hangs_is_ended_with_all_that_it_has_started(forge: Forge, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    hanging = tmp_path / "ssh"
    hanging.write_text(f"#!/bin/sh\necho $$ >> {pids}\nexec sleep 600\n")
    hanging.chmod(0o755)
    monkeypatch.setenv("GIT_SSH", str(hanging))
    monkeypatch.delenv("GIT_SSH_COMMAND", raising=False)
    text = refusal("git@git.example.com:recoveries.git", timeout=3)
    assert "git ls-remote took longer than 3 s" in text and "kafka_recovery_git_timeout" in text
    started = [int(pid) for pid in pids.read_text().split()]
    # On a busy machine a process that was killed is there for a moment.
    deadline = time.monotonic() + 10
    while any(map(runs, started)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in started if runs(pid)] == [], "no process is left"


def runs(pid: int) -> bool:
    """Whether a process is there, and not only as one that ended and that its parent does not ask for."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_missing_git_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git is not installed" in refusal("/srv/recoveries.git")


def test_a_repository_of_sha256_is_one_too(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "--initial-branch=main", "new")
    git(tmp_path / "new", "commit", "--quiet", "--allow-empty", "-m", "first")
    with scratch(Remote(str(tmp_path / "new")), "") as repository:
        assert len(repository.tip) == 64
        repository.push(repository.commit(repository.tip, {"x": b"x"}, "x"), "recovery/1")
    assert git(tmp_path / "new", "ls-tree", "--name-only", "recovery/1") == "x"
