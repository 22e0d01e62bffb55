# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a release, of a small collection, with a real key."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from release.__main__ import main, release
from release.commit import commit_id, write_tree
from release.errors import ReleaseError
from release.gnupg import home_with_key
from release.signatures import check_signature, secret_key, sign
from repository_root import ROOT

KEY = "release@example.com"
VERSION = "1.2.3"
GALAXY = f"namespace: streamops\nname: kafka_recovery\nversion: {VERSION}\nreadme: README.md\nauthors: [StreamOps]\n"
PERSON = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A commit of a small collection, and a file that git ignores."""
    tree = tmp_path / "checkout"
    (tree / "changelogs").mkdir(parents=True)
    (tree / "galaxy.yml").write_text(GALAXY)
    (tree / "README.md").write_text("A collection.\n")
    (tree / ".gitignore").write_text("secret\n")
    (tree / "secret").write_text("not for others\n")
    (tree / "changelogs/changelog.yaml").write_text(f"releases:\n  {VERSION}: {{}}\n")
    git(tree, "init", "--quiet", "--initial-branch=main")
    commit(tree)
    return tree


def read(artifact: Path) -> dict[str, str]:
    """Return the files of an artifact, by name."""
    with tarfile.open(artifact) as files:
        return {file.name: content.read().decode() for file in files if (content := files.extractfile(file))}


@pytest.fixture(scope="module")
def _key() -> Iterator[Path]:
    with home_with_key(KEY) as home:
        yield home


@pytest.fixture
def key(_key: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("GNUPGHOME", str(_key))
    return KEY


def git(tree: Path, *arguments: str) -> str:
    return subprocess.run(["git", *PERSON, *arguments], cwd=tree, capture_output=True, text=True, check=True).stdout


def commit(tree: Path) -> None:
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "As it stands")


def is_signed(path: Path) -> bool:
    return not subprocess.run(["gpg", "--batch", "--verify", f"{path}.asc", path], check=False, capture_output=True).returncode


@pytest.mark.slow
def test_a_release_has_an_artifact_with_checksums_and_signatures(checkout: Path, key: str, tmp_path: Path) -> None:
    git(checkout, "tag", VERSION)
    made = release(checkout, tmp_path / "dist", key).files
    names = f"streamops-kafka_recovery-{VERSION}.tar.gz", "MANIFEST.json", "SHA256SUMS", "MANIFEST.json.asc", "SHA256SUMS.asc"
    assert [path.name for path in made] == [*names] and {*(tmp_path / "dist").iterdir()} == {*made}
    artifact, manifest, checksums = made[:3]
    with tarfile.open(artifact) as files:
        inside = files.extractfile("MANIFEST.json")
        assert inside and inside.read() == manifest.read_bytes()
        assert "README.md" in files.getnames() and "secret" not in files.getnames()
    assert checksums.read_text() == "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in (artifact, manifest)
    )
    assert is_signed(manifest) and is_signed(checksums)
    checksums.write_text(checksums.read_text().replace("  MANIFEST", "  OTHER"))
    assert not is_signed(checksums)


def _attributes_of_the_commit(checkout: Path) -> None:
    (checkout / ".gitattributes").write_text("guard.py export-ignore\nREADME.md export-subst ident eol=crlf\n")
    commit(checkout)


def _attributes_of_the_checkout(checkout: Path) -> None:
    (checkout / ".git/info").mkdir(exist_ok=True)
    (checkout / ".git/info/attributes").write_text("guard.py export-ignore\nREADME.md export-subst ident\n")


def _hidden_changes(checkout: Path) -> None:
    git(checkout, "update-index", "--assume-unchanged", "guard.py", "galaxy.yml")
    (checkout / "guard.py").write_text("SAFE = False\n")
    (checkout / "galaxy.yml").write_text(GALAXY.replace(VERSION, "9.9.9"))


def _replaced_object(checkout: Path) -> None:
    other = subprocess.run(["git", "hash-object", "-w", "--stdin"], cwd=checkout, input=b"SAFE = False\n", capture_output=True, check=True)
    git(checkout, "replace", git(checkout, "rev-parse", "HEAD:guard.py").strip(), other.stdout.decode().strip())


@pytest.mark.slow
@pytest.mark.parametrize("hide", [_attributes_of_the_commit, _attributes_of_the_checkout, _hidden_changes, _replaced_object])
def test_the_artifact_has_the_bytes_of_the_commit(checkout: Path, key: str, tmp_path: Path, hide: Callable[[Path], None]) -> None:
    (checkout / "guard.py").write_text("SAFE = True\n")
    (checkout / "README.md").write_text("$Format:%an$ $Id$\n")
    commit(checkout)
    hide(checkout)
    made = read(release(checkout, tmp_path / "dist", key).files[0])
    assert (made.get("guard.py"), made["README.md"]) == ("SAFE = True\n", "$Format:%an$ $Id$\n")


def test_the_files_of_a_commit_are_executable_as_it_says(checkout: Path, tmp_path: Path) -> None:
    (checkout / "run").write_text("#!/bin/sh\n")
    (checkout / "run").chmod(0o755)
    commit(checkout)
    write_tree(checkout, commit_id(checkout, "HEAD"), tmp_path / "tree")
    assert [os.access(tmp_path / "tree" / name, os.X_OK) for name in ("run", "README.md")] == [True, False]


@pytest.mark.parametrize("target", ["/etc/hostname", "../../etc/hostname", "README.md", "changelogs"])
def test_a_commit_with_links_is_refused_in_a_line(
    checkout: Path, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    (checkout / "link").symlink_to(target)
    commit(checkout)
    monkeypatch.setattr("release.__main__.CHECKOUT", checkout)
    assert main(["--key", key, "--into", str(tmp_path / "dist")]) == 1
    assert capsys.readouterr().err == "no release: link is not a regular file in the commit; replace it with one\n"
    assert not (tmp_path / "dist").exists()


def _change(checkout: Path) -> None:
    (checkout / "README.md").write_text("Another one.\n")


def _add(checkout: Path) -> None:
    (checkout / "new.yml").write_text("---\n")


def _raise_version(checkout: Path) -> None:
    (checkout / "galaxy.yml").write_text(GALAXY.replace(VERSION, "1.2.4"))
    commit(checkout)


def _tag_before(checkout: Path) -> None:
    git(checkout, "tag", VERSION)
    _change(checkout)
    commit(checkout)


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (_change, "1 files differ from the commit, README.md first"),
        (_add, "1 files differ from the commit, new.yml first"),
        (_raise_version, "the changelog has no release 1.2.4"),
        (_tag_before, "the tag 1.2.3 is of another commit"),
    ],
)
def test_no_release_is_made_of_another_state(checkout: Path, key: str, tmp_path: Path, before: Callable[[Path], None], why: str) -> None:
    before(checkout)
    with pytest.raises(ReleaseError, match=re.escape(why)):
        release(checkout, tmp_path / "dist", key)
    assert not (tmp_path / "dist").exists()


@pytest.mark.slow
def test_a_key_that_is_unknown_leaves_nothing(
    checkout: Path, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("release.__main__.CHECKOUT", checkout)
    assert main(["--key", "absent@example.com", "--into", str(tmp_path / "dist")]) == 1
    assert "no release:" in (said := capsys.readouterr().err) and "no secret key of absent@example.com" in said
    assert not (tmp_path / "dist").exists()


@pytest.mark.slow
@pytest.mark.parametrize("owner", ["Mallory <evil-release@example.com.attacker.org>", "release@example.com <mallory@attacker.org>"])
def test_a_key_whose_user_has_the_address_as_a_part_does_not_sign(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: str
) -> None:
    with home_with_key(owner) as home:
        monkeypatch.setenv("GNUPGHOME", str(home))
        with pytest.raises(ReleaseError, match="GnuPG has no secret key of release@"):
            release(checkout, tmp_path / "dist", KEY)
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize(
    "name", ["release", "ABCD1234", "--output=/tmp/a", "-v@example.com", "<release@example.com>", "a@b\n", "x' ; echo '@b"]
)
def test_a_key_is_a_fingerprint_or_an_address(name: str) -> None:
    with pytest.raises(ReleaseError, match="is neither a fingerprint of 40 digits nor an address"):
        secret_key(name)


@pytest.mark.slow
def test_the_key_that_signed_is_shown_and_may_be_named_by_its_fingerprint(
    checkout: Path, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fingerprint = secret_key(key)
    monkeypatch.setattr("release.__main__.CHECKOUT", checkout)
    assert main(["--key", fingerprint.lower(), "--into", str(tmp_path / "dist")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"signed by {fingerprint}"
    verified = subprocess.run(
        ["gpg", "--status-fd", "1", "--verify", tmp_path / "dist/SHA256SUMS.asc"], capture_output=True, text=True, check=True
    )
    assert f"VALIDSIG {fingerprint} " in verified.stdout


@pytest.mark.slow
def test_an_address_of_two_keys_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with home_with_key(KEY) as home:
        monkeypatch.setenv("GNUPGHOME", str(home))
        make = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", f"Second <{KEY}>", "ed25519", "sign", "never"]
        subprocess.run(make, check=True, capture_output=True, timeout=120)
        with pytest.raises(ReleaseError, match="GnuPG has 2 secret keys of "):
            secret_key(KEY)


@pytest.mark.slow
def test_a_signature_of_another_key_is_refused(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if GnuPG's own configuration chose another key."""
    path = tmp_path / "SHA256SUMS"
    path.write_text("checksums\n")
    assert sign(path, secret_key(key)).exists()
    with pytest.raises(ReleaseError, match="is not signed by " + "0" * 40):
        check_signature(path, tmp_path / "SHA256SUMS.asc", "0" * 40)
    path.write_text("others\n")
    with pytest.raises(ReleaseError, match="is not signed by"):
        check_signature(path, tmp_path / "SHA256SUMS.asc", secret_key(key))


def test_make_gives_the_key_to_no_shell(tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    key = f"x' ; touch {trace} ; echo '"
    made = subprocess.run(
        ["make", "--makefile", ROOT / "Makefile", "--old-file=setup", "release", f"KEY={key}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not trace.exists()
    assert "is neither a fingerprint" in made.stderr and ascii(key) in made.stderr


def test_a_release_replaces_no_other_one(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="exists; name another folder"):
        release(checkout, tmp_path, KEY)


def test_a_release_without_a_key_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--key", "", "--into", str(tmp_path / "dist")])
    assert "make release takes it as KEY=" in capsys.readouterr().err


def test_the_guide_names_the_files_of_this_version() -> None:
    galaxy = (ROOT / "galaxy.yml").read_text()
    version = re.search(r"(?m)^version: (.*)$", galaxy)
    assert version and f"install streamops-kafka_recovery-{version[1]}.tar.gz" in (ROOT / "docs/releases.md").read_text()
