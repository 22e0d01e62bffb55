# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the collection's modules from where they are installed, where that is possible: beside Ansible, on its own interpreter.

Ansible packs a module with all that it imports, and Python compiles what comes out of the package, each time. For connection local
and the interpreter of ansible-playbook both are for nothing: the same files are there, compiled already. All else about the task
stays Ansible's: arguments, check mode, environment, async, results. The few lines that start the module go to the interpreter through a
pipe, so that its options, a password perhaps, are in no file that a killed run leaves behind. Where anything else is wanted (a remote host,
become, another interpreter), or where this release of Ansible has other inner workings, the module is packed as ever.

Where more modules are to be expected, a fork server imports meanwhile what they need (`fork_server.py`), and they start as its forks.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import ansible
from ansible import constants as C
from ansible.module_utils.common.json import Direction, get_module_encoder
from ansible.module_utils.common.text.converters import to_text
from ansible.plugins.action.normal import ActionModule as Normal
from ansible.utils.display import Display

from ansible_collections.streamops.kafka_recovery.plugins.plugin_utils import forked

display = Display()

try:
    from ansible.executor.module_common import _BuiltModule
    from ansible.module_utils._internal._ansiballz._loader import run_module  # noqa: F401  # pylint: disable=unused-import  # what BOOTSTRAP calls
except ImportError:
    _BuiltModule = None

PROFILE = "legacy"  # of modules that name none
# What plays begin with in which others follow. With several hosts there is always more to come.
FIRST = ("kafka_readiness_info", "kafka_recovery_spark")
# It stays with the playbook that it is a descendant of.
NEVER_FORKED = ("kafka_recovery_spark",)
SPARK_CLIENT = "pyspark.sql.connect.session"
# The package's own way to run a module, so that a crash is told as ever. The first entry of the path is the folder of this script.
BOOTSTRAP = """\
#!{interpreter}
import sys
sys.path[:1] = [{root!r}]
sys.path.append({ansible!r})
from ansible.module_utils._internal._ansiballz._loader import run_module
run_module(**{arguments!r})
"""


class ActionModule(Normal):  # type: ignore[misc]
    """Ansible's own action for modules, with another way to the module's file."""

    _path: Path | None = None  # of the module's own file, where it runs from there
    _fork: tuple[str, dict[str, Any]] | None = None  # what the fork server is to run, where it may

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        self._path = self._installed(task_vars or {})
        if self._path is not None and (self._path.stem in FIRST or len((task_vars or {}).get("ansible_play_hosts_all", ())) > 1):
            _expect_more(self._path)
        result: dict[str, Any] = super().run(tmp, task_vars)
        return result

    def _is_pipelining_enabled(self, module_style: str, wrap_async: bool = False) -> bool:
        if self._path is not None and not wrap_async and not C.DEFAULT_KEEP_REMOTE_FILES:
            return True
        return bool(super()._is_pipelining_enabled(module_style, wrap_async))

    def _configure_module(self, module_name: str, module_args: dict[str, Any], task_vars: dict[str, Any]) -> Any:
        """Return what is to be run, and the module's path. Also asked for Ansible's own async_wrapper."""
        path = self._path
        if path is None or module_name != self._task.action:
            return super()._configure_module(module_name=module_name, module_args=module_args, task_vars=task_vars)
        root, ansible_root = _places(path)
        params = json.dumps({"ANSIBLE_MODULE_ARGS": module_args}, cls=get_module_encoder(PROFILE, Direction.CONTROLLER_TO_MODULE))
        arguments = {"profile": PROFILE, "module_fqn": _name(path), "modlib_path": root, "extensions": {}}
        self._fork = None if path.stem in NEVER_FORKED or self._task.async_val else (params, arguments)
        script = BOOTSTRAP.format(
            interpreter=sys.executable, root=root, ansible=ansible_root, arguments={"json_params": params.encode(), **arguments}
        )
        built = _BuiltModule(
            b_module_data=script.encode(), module_style="new", shebang=f"#!{sys.executable}", serialization_profile=PROFILE
        )
        return built, str(path)

    def _low_level_execute_command(self, cmd: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return exit code and output of what is run: the module itself, or what Ansible does around it."""
        if self._fork is not None and kwargs.get("in_data") is not None and not self._compute_environment_string():
            ran = forked.run(self._loader.get_basedir(), *self._fork)
            if ran is not None:
                display.vvv(f"FORKED {self._fork[1]['module_fqn']}", host=self._play_context.remote_addr)
                stdout, stderr = (to_text(output, errors="surrogate_then_replace") for output in (ran.stdout, ran.stderr))
                return {
                    "rc": ran.rc,
                    "stdout": stdout,
                    "stdout_lines": stdout.splitlines(),
                    "stderr": stderr,
                    "stderr_lines": stderr.splitlines(),
                }
        done: dict[str, Any] = super()._low_level_execute_command(cmd, *args, **kwargs)
        return done

    def _installed(self, task_vars: dict[str, Any]) -> Path | None:
        """The module's file in this collection, None where the module is to be packed."""
        if _BuiltModule is None or self._connection.transport != "local" or self._connection.become or self._task.delegate_to:
            return None
        if not is_own(self._templar.template(task_vars.get("ansible_python_interpreter"))):
            return None
        found = self._shared_loader_obj.module_loader.find_plugin_with_context(
            self._task.action, ".py", collection_list=self._task.collections
        )
        path = Path(found.plugin_resolved_path or "")
        if len(path.parts) < 7 or path.parents[4].name != "ansible_collections":
            return None
        return path if path.parent.resolve() == (Path(__file__).parents[1] / "modules").resolve() else None


def _places(path: Path) -> tuple[str, str]:
    """Where a module of this collection, by its file, and Ansible are imported from."""
    return str(path.parents[5]), str(Path(ansible.__file__).parents[1])


def _name(path: Path) -> str:
    """By which a module of this collection is imported."""
    return ".".join(path.relative_to(_places(path)[0]).with_suffix("").parts)


def _expect_more(path: Path) -> None:
    """Have a fork server import what the modules of this collection do, beginning with what plays begin with."""
    modules = sorted(path.parent.glob("kafka_*.py"), key=lambda module: (module.stem not in FIRST, module.stem))
    if not C.DEFAULT_KEEP_REMOTE_FILES:
        forked.start(_places(path), [*map(_name, modules), SPARK_CLIENT])


def is_own(interpreter: Any) -> bool:
    """Whether this is the interpreter of ansible-playbook, by whatever name (python, python3): in the same folder, or it has other libraries."""
    if not isinstance(interpreter, str) or Path(interpreter).parent != Path(sys.executable).parent:
        return False
    return Path(interpreter).resolve() == Path(sys.executable).resolve()
