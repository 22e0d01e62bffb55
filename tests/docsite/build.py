# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the site: a copy of the guides, pages that are made of the code, then Sphinx, to which every warning is an error."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from docsite.generated import BIN, ansible_labels, collection_pages, event_source_pages, playbook_page
from docsite.places import COLLECTION, PAGES, ROOT

PLACE = ROOT / ".cache/docs"


def build(place: Path = PLACE) -> Path:
    """The folder of the built site. It is always built again: of pages that it has not read again Sphinx does not repeat the warnings."""
    for folder in ("source", "html", "doctrees"):
        shutil.rmtree(place / folder, ignore_errors=True)
    stage(place / "source")
    sphinx(place).check_returncode()
    return place / "html"


def sphinx(place: Path, stderr: int | None = None) -> subprocess.CompletedProcess[str]:
    """Sphinx, from `source` to `html`."""
    argv: list[str | Path] = [
        BIN / "sphinx-build",
        "--builder",
        "html",
        "--doctree-dir",
        place / "doctrees",
        "--fail-on-warning",
        "--keep-going",
        "--quiet",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    return subprocess.run([*argv, place / "source", place / "html"], check=False, env=environment, text=True, stderr=stderr)


def stage(source: Path) -> None:
    """All that Sphinx reads."""
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("__pycache__"))
    for name, page in PAGES.items():
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, source / page)
    pages = source / COLLECTION
    pages.mkdir()
    pages.chmod(0o755)  # antsibull-docs wants no other user to write there
    collection_pages(pages)
    playbook_page(pages / "playbooks.md")
    event_source_pages(pages)
    ansible_labels(source / "ansible.inv")
