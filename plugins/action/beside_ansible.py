# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs modules of the collection from their installed files, on the interpreter of ansible-playbook, if that is possible.

Normally Ansible packs a module with all its imports, and Python compiles them again for each task. With connection local and the
interpreter of ansible-playbook neither is needed, because the same files are installed and compiled. Ansible still handles arguments,
check mode, environment, async and results. The script that starts the module is piped to the interpreter, so a killed run leaves no file
with module options, which may have a password. For a remote host, become or another interpreter, and on releases of Ansible with other
internals, the module is packed as usual.

If more modules are expected, a fork server (`fork_server.py`) imports their dependencies meanwhile, and the modules start as its forks.
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

PROFILE = "legacy"  # of modules that name no profile
# Modules with which plays usually start, so that more modules are expected. In a play with several hosts more modules are always expected.
USUALLY_FIRST_MODULES = ("kafka_readiness_info", "kafka_recovery_spark")
# Its server finds the playbook with which it ends among the ancestors of the module.
NEVER_FORKED = ("kafka_recovery_spark",)
SPARK_CLIENT = "pyspark.sql.connect.session"
# Runs a module as Ansible's package does, so that a crash is reported as usual. The first entry of sys.path is the directory of this script.
BOOTSTRAP = """\
#!{interpreter}
import sys
sys.path[:1] = [{root!r}]
sys.path.append({ansible!r})
from ansible.module_utils._internal._ansiballz._loader import run_module
run_module(**{arguments!r})
"""


class ActionModule(Normal):  # type: ignore[misc]
    """Ansible's action for modules, which runs the installed file of a module if possible."""

    _path: Path | None = None  # the module's installed file, if it runs from there
    _fork: tuple[str, dict[str, Any]] | None = None  # what the fork server runs, if it may run the module

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        self._path = self._installed(task_vars or {})
        if self._path is not None and (
            self._path.stem in USUALLY_FIRST_MODULES or len((task_vars or {}).get("ansible_play_hosts_all", ())) > 1
        ):
            _expect_more(self._path)
        result: dict[str, Any] = super().run(tmp, task_vars)
        return result

    def _is_pipelining_enabled(self, module_style: str, wrap_async: bool = False) -> bool:
        if self._path is not None and not wrap_async and not C.DEFAULT_KEEP_REMOTE_FILES:
            return True
        return bool(super()._is_pipelining_enabled(module_style, wrap_async))

    def _configure_module(self, module_name: str, module_args: dict[str, Any], task_vars: dict[str, Any]) -> Any:
        """Return the built module and its path. Ansible also calls this for its async_wrapper."""
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
        """Return exit code and output of a command: the module itself, or a helper command of Ansible."""
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
        """Return the module's file in this collection, or None if the module must be packed."""
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
    """Return the directories from which this collection and Ansible are imported."""
    return str(path.parents[5]), str(Path(ansible.__file__).parents[1])


def _name(path: Path) -> str:
    """Return the import name of a module of this collection."""
    return ".".join(path.relative_to(_places(path)[0]).with_suffix("").parts)


def _expect_more(path: Path) -> None:
    """Start a fork server that imports the dependencies of all modules, beginning with those that plays usually start with."""
    modules = sorted(path.parent.glob("kafka_*.py"), key=lambda module: (module.stem not in USUALLY_FIRST_MODULES, module.stem))
    if not C.DEFAULT_KEEP_REMOTE_FILES:
        forked.start(_places(path), [*map(_name, modules), SPARK_CLIENT])


def is_own(interpreter: Any) -> bool:
    """Return whether this is the interpreter of ansible-playbook, under any name (python, python3).

    It must be in the same directory, because another virtual environment has other libraries.
    """
    if not isinstance(interpreter, str) or Path(interpreter).parent != Path(sys.executable).parent:
        return False
    return Path(interpreter).resolve() == Path(sys.executable).resolve()
