# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a release, of a small collection, with a real key."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from release.__main__ import ReleaseError, main, release
from release.gnupg import home_with_key
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
    made = release(checkout, tmp_path / "dist", key)
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
    assert "no release:" in (said := capsys.readouterr().err) and "No secret key" in said
    assert not (tmp_path / "dist").exists()


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
