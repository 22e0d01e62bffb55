# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a release, from the commit that is checked out: the artifact, its checksums, and the signatures of both.

`python -m release --key KEY` writes them to dist/. KEY is the fingerprint or the address of a secret key of GnuPG, which signs them.
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
from typing import NamedTuple

import yaml

from .commit import commit_id, git, write_tree
from .errors import ReleaseError
from .signatures import secret_key, sign

CHECKOUT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent
CHECKSUMS, MANIFEST = "SHA256SUMS", "MANIFEST.json"


class Release(NamedTuple):
    """What was made: artifact, manifest, checksums and two signatures, and the fingerprint of the key that signed."""

    files: list[Path]
    fingerprint: str


def main(argv: list[str] | None = None) -> int:
    """Make the files that the arguments ask for. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--key", required=True, help="the secret key of GnuPG that signs: its fingerprint, or its address")
    parser.add_argument("--into", type=Path, default=CHECKOUT / "dist", help="a folder that does not exist yet (default: dist)")
    options = parser.parse_args(argv)
    if not options.key:
        parser.error("--key names no key; make release takes it as KEY=release@example.com")
    try:
        made = release(CHECKOUT, options.into, options.key)
        print(*made.files, f"signed by {made.fingerprint}", sep="\n")
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


def release(checkout: Path, folder: Path, key: str) -> Release:
    """Make the files of a release of the commit that is checked out in `folder`, which it makes.

    `key`: a fingerprint or an address. Raises ReleaseError if the key, the checkout or the folder is not as it must be, CalledProcessError if git,
    ansible-galaxy or gpg fails.
    """
    if folder.exists():
        raise ReleaseError(f"{folder} exists; name another folder (--into), or remove it")
    fingerprint = secret_key(key)
    if changed := git(checkout, "status", "--porcelain").decode().splitlines():
        raise ReleaseError(f"{len(changed)} files differ from the commit, {changed[0][3:]} first; commit them, or put them aside")
    with tempfile.TemporaryDirectory() as scratch:
        tree, made = Path(scratch, "tree"), Path(scratch, "made")
        commit = commit_id(checkout, "HEAD")  # once: another commit may be checked out meanwhile
        write_tree(checkout, commit, tree)
        version = _version(checkout, commit, tree)
        galaxy = [str(TOOLS / "ansible-galaxy"), "collection", "build", "--output-path", str(made)]
        subprocess.run(galaxy, cwd=tree, capture_output=True, check=True)
        files = [made / f"streamops-kafka_recovery-{version}.tar.gz", made / MANIFEST]
        with tarfile.open(files[0]) as artifact, files[1].open("wb") as manifest:
            content = artifact.extractfile(MANIFEST)
            assert content is not None  # every artifact of a collection has it
            manifest.write(content.read())
        checksums = made / CHECKSUMS
        checksums.write_text("".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files))
        signed = [sign(path, fingerprint) for path in (files[1], checksums)]
        folder.mkdir(parents=True)
        return Release([Path(shutil.copy(path, folder)) for path in (*files, checksums, *signed)], fingerprint)


def _version(checkout: Path, commit: str, tree: Path) -> str:
    """Return the version of the files in `tree`, which are those of the commit. Raises ReleaseError if it is not the next one."""
    version: str = yaml.safe_load((tree / "galaxy.yml").read_text())["version"]
    if version not in yaml.safe_load((tree / "changelogs/changelog.yaml").read_text())["releases"]:
        raise ReleaseError(f"the changelog has no release {version}, which galaxy.yml names; run make changelog")
    if (tag := git(checkout, "tag", "--list", version).decode().strip()) and commit_id(checkout, f"refs/tags/{tag}") != commit:
        raise ReleaseError(f"the tag {tag} is of another commit; raise the version in galaxy.yml")
    return version


if __name__ == "__main__":
    sys.exit(main())
