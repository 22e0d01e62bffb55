# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The maps of module_utils and of the tests name what exists, and all of it."""

from __future__ import annotations

import configparser
import re

from repository_root import ROOT

UTILS = ROOT / "plugins/module_utils"
MAP = UTILS / "README.md"
LINK = re.compile(r"\]\(([^)#]+)")
LINKS = LINK.findall(MAP.read_text())
TESTS = ROOT / "tests"


def test_every_path_of_the_map_exists() -> None:
    assert LINKS
    assert [link for link in LINKS if not (UTILS / link).exists()] == []


def test_every_package_is_on_the_map() -> None:
    packages = {str(path.parent.relative_to(UTILS)) for path in UTILS.rglob("__init__.py")}
    assert packages - set(LINKS) == set()


def test_entry_points_are_the_only_files_beside_the_packages() -> None:
    assert {path.name for path in UTILS.glob("*.py")} == {link for link in LINKS if "/" not in link and link.endswith(".py")}


def test_the_map_has_the_packages_in_the_order_of_their_imports() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    layers = re.findall(r"\w+", contracts["importlinter:contract:rooms"]["layers"])
    rows = re.findall(r"^\| \[([a-z_]+)(?:\.py)?\]", MAP.read_text(), re.MULTILINE)
    assert rows == layers


def test_every_folder_of_the_tests_is_on_their_map_and_every_path_there_exists() -> None:
    links = LINK.findall((TESTS / "README.md").read_text())
    assert [link for link in links if not (TESTS / link).exists()] == []
    folders = {path.name for path in TESTS.iterdir() if path.is_dir() and any(path.glob("**/*.py"))}
    assert folders - {*links} == set()
