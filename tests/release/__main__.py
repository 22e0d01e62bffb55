# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a release, from the commit that is checked out: the artifact, its checksums, and the signatures of both.

`python -m release --key KEY` writes them to dist/. KEY names a secret key of GnuPG, which signs them.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent
CHECKSUMS, MANIFEST = "SHA256SUMS", "MANIFEST.json"


class ReleaseError(Exception):
    """No release can be made of this checkout."""


def main(argv: list[str] | None = None) -> int:
    """Make the files that the arguments ask for. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--key", required=True, help="the secret key of GnuPG that signs: its fingerprint, or a user id")
    parser.add_argument("--into", type=Path, default=CHECKOUT / "dist", help="a folder that does not exist yet (default: dist)")
    options = parser.parse_args(argv)
    if not options.key:
        parser.error("--key names no key; make release takes it as KEY=release@example.com")
    try:
        for path in release(CHECKOUT, options.into, options.key):
            print(path)
    except ReleaseError as error:
        print(f"no release: {error}", file=sys.stderr)
        return 1
    except FileNotFoundError as error:
        print(f"no release: {error.filename} is missing; install it", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"no release: {error}: {error.stderr.decode(errors='replace').strip()}", file=sys.stderr)
        return 1
    return 0


def release(checkout: Path, folder: Path, key: str) -> list[Path]:
    """Make the files of a release of `checkout` in `folder`, which it makes. Return them: artifact, manifest, checksums, two signatures.

    Raises ReleaseError if the checkout or the folder is not as it must be, CalledProcessError if git, ansible-galaxy or gpg fails.
    """
    version = yaml.safe_load((checkout / "galaxy.yml").read_text())["version"]
    _check(checkout, folder, version)
    with tempfile.TemporaryDirectory() as scratch:
        made = _built(checkout, Path(scratch))
        files = [made / f"streamops-kafka_recovery-{version}.tar.gz", made / MANIFEST]
        with tarfile.open(files[0]) as artifact, files[1].open("wb") as manifest:
            content = artifact.extractfile(MANIFEST)
            assert content is not None  # every artifact of a collection has it
            manifest.write(content.read())
        checksums = made / CHECKSUMS
        checksums.write_text("".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files))
        signed = [_signed(path, key) for path in (files[1], checksums)]
        folder.mkdir(parents=True)
        return [Path(shutil.copy(path, folder)) for path in (*files, checksums, *signed)]


def _check(checkout: Path, folder: Path, version: str) -> None:
    if folder.exists():
        raise ReleaseError(f"{folder} exists; name another folder (--into), or remove it")
    if changed := _git(checkout, "status", "--porcelain").decode().splitlines():
        raise ReleaseError(f"{len(changed)} files differ from the commit, {changed[0][3:]} first; commit them, or put them aside")
    releases = yaml.safe_load((checkout / "changelogs/changelog.yaml").read_text())["releases"]
    if version not in releases:
        raise ReleaseError(f"the changelog has no release {version}, which galaxy.yml names; run make changelog")
    if (tag := _git(checkout, "tag", "--list", version).decode().strip()) and _commit(checkout, tag) != _commit(checkout, "HEAD"):
        raise ReleaseError(f"the tag {tag} is of another commit; raise the version in galaxy.yml")


def _commit(checkout: Path, name: str) -> bytes:
    return _git(checkout, "rev-parse", f"{name}^{{commit}}")


def _git(checkout: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=checkout, capture_output=True, check=True).stdout


def _built(checkout: Path, scratch: Path) -> Path:
    """Build the artifact of the commit, without files that git ignores. Return the folder that has it."""
    tree, made = scratch / "tree", scratch / "made"
    tree.mkdir()
    archive = scratch / "commit.tar"
    archive.write_bytes(_git(checkout, "archive", "--format=tar", "HEAD"))
    with tarfile.open(archive) as commit:
        commit.extractall(tree, filter="data")
    galaxy = [str(TOOLS / "ansible-galaxy"), "collection", "build", "--output-path", str(made)]
    subprocess.run(galaxy, cwd=tree, capture_output=True, check=True)
    return made


def _signed(path: Path, key: str) -> Path:
    """Sign a file. Return its signature."""
    signature = path.with_name(f"{path.name}.asc")
    gpg = ["gpg", "--batch", "--local-user", key, "--armor", "--output", str(signature), "--detach-sign", str(path)]
    subprocess.run(gpg, capture_output=True, check=True)
    return signature


if __name__ == "__main__":
    sys.exit(main())
