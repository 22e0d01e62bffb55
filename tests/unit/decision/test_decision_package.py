# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The package `decision` travels to the workers of Spark by value: it needs nothing but Python and itself."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import decision

PACKAGE = decision.__name__
FILES = sorted(Path(str(decision.__file__)).parent.glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_imports_only_the_standard_library_and_the_package(file: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or ".")
    others = {name for name in imported if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith(f"{PACKAGE}.")}
    assert others == set()


def test_the_rule_can_be_read_in_one_sitting() -> None:
    (rule,) = (file for file in FILES if file.stem == "decide")
    assert len(rule.read_text().splitlines()) < 300
