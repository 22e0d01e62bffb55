# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules that connect to a cluster turn off the garbage collector before they import anything else of the collection, and nothing else does."""

from __future__ import annotations

import ast
from pathlib import Path

from repository_root import ROOT

UTILS = "ansible_collections.streamops.kafka_recovery.plugins.module_utils"
FILES = sorted(path for folder in ("plugins", "extensions") for path in (ROOT / folder).rglob("*.py") if path.name != "before_imports.py")


def imports(path: Path) -> list[tuple[str, list[str]]]:
    """Return what a file imports of the collection, in order: modules, each with its names."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    return [(node.module, [alias.name for alias in node.names]) for node in nodes if node.module and node.module.startswith(UTILS)]


def test_modules_that_connect_turn_off_the_collector_first_and_nothing_else_does() -> None:
    places = {}
    for path in FILES:
        found = imports(path)
        connects = path.parent.name == "modules" and any(module == f"{UTILS}.kafka_module" for module, _names in found)
        here = [place for place, (_module, names) in enumerate(found) if "before_imports" in names]
        if here != ([0] if connects else []):
            places[str(path.relative_to(ROOT))] = here
    assert places == {}
