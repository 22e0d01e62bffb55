# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No file of the collection imports a private name of Ansible, and no plugin overrides one."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

import pytest
from ansible.plugins.action import ActionBase
from ansible.plugins.action.normal import ActionModule
from repository_root import ROOT

FILES = sorted(path for folder in ("plugins", "extensions") for path in (ROOT / folder).rglob("*.py"))
# The private names that Ansible's guide for action plugins allows authors to use or set.
DOCUMENTED = {"_execute_module", "_supports_check_mode", "_supports_async", "_requires_connection", "_VALID_ARGS"}
# What the classes define, and what they set from the arguments of their constructor.
PRIVATE = {name for base in (ActionBase, ActionModule) for name in dir(base) if name.startswith("_") and not name.startswith("__")} | {
    f"_{name}" for name in inspect.signature(ActionBase.__init__).parameters
}


def private_imports(tree: ast.AST) -> Iterator[str]:
    """Names of Ansible that are imported and have a part that begins with an underscore. Strings are read too: they may be scripts."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [word for word in node.value.split() if "ansible." in word and "._" in word]
        for name in names:
            parts = name.split(".")
            if parts[0] == "ansible" and any(part.startswith("_") and not part.startswith("__") for part in parts):
                yield name


def overrides(tree: ast.AST) -> Iterator[str]:
    """Private names of Ansible's action plugins that the action of this file defines or assigns. Ansible looks for an action by the name ActionModule."""
    for action in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == "ActionModule"):
        for node in ast.walk(action):
            names: list[str] = []
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [node.name]
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                names = [node.id if isinstance(node, ast.Name) else node.attr]
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr" and isinstance(node.args[1], ast.Constant):
                names = [str(node.args[1].value)]
            yield from (name for name in names if name in PRIVATE - DOCUMENTED)


def test_nothing_private_of_ansible_is_imported() -> None:
    assert len(FILES) > 200
    assert {str(path.relative_to(ROOT)): found for path in FILES if (found := list(private_imports(ast.parse(path.read_text()))))} == {}


def test_no_action_plugin_overrides_a_private_name() -> None:
    actions = sorted((ROOT / "plugins/action").glob("*.py"))
    assert actions
    assert {path.name: found for path in actions if (found := list(overrides(ast.parse(path.read_text()))))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "from ansible.module_utils._internal._ansiballz import _loader",
        "from ansible.executor.module_common import _BuiltModule",
        "import ansible._internal",
        "SCRIPT = 'from ansible.module_utils._internal._ansiballz._loader import run_module'",
    ],
)
def test_a_private_import_is_seen(source: str) -> None:
    assert list(private_imports(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "class ActionModule(Normal):\n    def _configure_module(self): ...",
        "class ActionModule(Normal):\n    _low_level_execute_command = None",
        "class ActionModule(Normal):\n    _task: object = None",
        "class ActionModule(Normal):\n    def run(self):\n        self._connection = 1",
        "class ActionModule(Normal):\n    def run(self):\n        setattr(self, '_loader', 1)",
    ],
)
def test_an_override_is_seen(source: str) -> None:
    assert list(overrides(ast.parse(source)))
