# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks everything that needs no broker, once for all clusters of a play: names and values of variables, libraries, Java, files.

An action plugin, because it needs the variables of all clusters as the inventory has them. The rules are in module_utils/preflight.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from ansible import context
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.parsing.splitter import parse_kv
from ansible.plugins.action import ActionBase
from ansible.release import __version__ as ansible_version
from ansible.utils.vars import load_extra_vars

from ansible_collections.streamops.kafka_recovery.plugins.filter.run_limit import run_limit
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import CONNECTION_ARGUMENTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.mounts import has_url
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import (
    DEFAULT_WORKDIR,
    LOST_BROKERS,
    SET_ALREADY,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.user_paths import path_problem
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import repository_check
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import clusters as play_clusters
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import (
    connection_variables,
    documented_variables,
    local_machine,
    lost_brokers,
    repeated_options,
    same_options,
    variable_names,
    variable_values,
)
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_recovery_options_info import ARGUMENTS

COLLECTION = "streamops.kafka_recovery."
OLDEST_ANSIBLE = (2, 19)
RUN_ID = "kafka_recovery_run_id"
RUN_ID_FORMAT = "%Y-%m-%dT%H-%M-%SZ"
# The variable in which the role preflight registers the result.
RESULT = "kafka_recovery_options"


class Variables:
    """The variables of one cluster: what its inventory, `-e` and facts set, and what the play sets for all of its hosts."""

    def __init__(self, cluster: str, task_vars: Mapping[str, Any], templar: Any) -> None:
        self.host = task_vars["hostvars"][cluster]
        self._own = cluster == task_vars["inventory_hostname"]
        self._play, self._templar = task_vars, templar
        self._others = task_vars["hostvars"][task_vars["inventory_hostname"]]

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of all variables that begin with `kafka`."""
        shared = (name for name in self._play if name not in self._others)
        return frozenset(name for name in (*self.host, *shared) if isinstance(name, str) and name.startswith("kafka"))

    def get(self, name: str) -> Any:
        """Return the value of a variable, or None if it is not set or cannot be evaluated here. Ansible itself reports template errors."""
        if name not in self.names:
            return None
        try:
            if name in self.host and not self._own:
                return self.host[name]
            return self._templar.template(self._play[name])
        except AnsibleError:
            return None

    def some(self, wanted: Iterable[str]) -> dict[str, Any]:
        """Return the values of those of these variables that have one."""
        return {name: value for name in wanted if (value := self.get(name)) is not None}

    def path(self, name: str, default: str = "") -> Path | None:
        """Return a path, relative to the directory of the command. None if it is not set, cannot be evaluated yet, has no home directory,
        or is a URL."""
        value = (self.get(name) or "") if name in self.names else default
        if not isinstance(value, str) or not value or has_url(value) or path_problem(value):
            return None
        return Path(os.path.normpath(Path.cwd() / Path(value).expanduser()))


class ActionModule(ActionBase):  # type: ignore[misc]
    """The action of `kafka_recovery_options_info`."""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what RETURN documents. Fails if something is wrong for every cluster."""
        task_vars = task_vars or {}
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        batch = task_vars.get("ansible_play_batch") or ()
        if arguments["max_failed_clusters"] is not None and (problem := _too_many_failed(arguments, batch, task_vars)):
            raise AnsibleActionFail(problem)
        clusters = arguments["clusters"] or [task_vars["inventory_hostname"]]
        clusters = [cluster for cluster in clusters if cluster in batch or not self._is_skipped(cluster, task_vars)]
        roles = arguments["roles"]
        if roles is None:
            played = task_vars.get("ansible_play_role_names") or ()
            roles = [name.removeprefix(COLLECTION) for name in played if name.startswith(COLLECTION)]
        uses = {cluster: self._repository_use(cluster, arguments, roles, task_vars) for cluster in clusters}
        found: dict[str, list[str]] = {}
        self._checked: dict[str, list[str]] = {}
        for cluster in clusters:
            for text in dict.fromkeys(self._problems(cluster, clusters, roles, arguments["apply"], uses[cluster], task_vars)):
                found.setdefault(text, []).append(cluster)
        sharing = [cluster for cluster, use in uses.items() if use]
        if sharing and (different := self._different_approvals(sharing, task_vars)):
            found[different] = sharing
        if any(concerned == clusters for concerned in found.values()):
            return result | {"failed": True, "msg": "\n".join(_line(text, concerned, clusters) for text, concerned in found.items())}
        problems = [{"text": text, "clusters": concerned} for text, concerned in found.items()]
        # The clusters of this batch fail now, the others when their batch starts.
        for text, concerned in found.items():
            if later := [cluster for cluster in concerned if cluster not in batch]:
                self._display.warning(_line(text, later, clusters))
        return result | {
            "changed": False,
            "problems": problems,
            "run_options": self._run_options(clusters, task_vars),
            "run_id": self._run_id(task_vars),
        }

    def _run_id(self, task_vars: Mapping[str, Any]) -> str:
        """Return the name of the run: the given one, that of an earlier batch of the same play, or the time in UTC."""
        if given := Variables(task_vars["inventory_hostname"], task_vars, self._templar).get(RUN_ID):
            return str(given)
        batch = set(task_vars.get("ansible_play_batch") or ())
        for cluster in task_vars.get("ansible_play_hosts_all") or ():
            variables = task_vars["hostvars"][cluster] if cluster not in batch else {}
            if named := variables.get(RUN_ID) or (variables.get(RESULT) or {}).get("run_id"):
                return str(named)
        return datetime.now(UTC).strftime(RUN_ID_FORMAT)

    def _is_skipped(self, cluster: str, task_vars: Mapping[str, Any]) -> bool:
        """Return whether an earlier play selected no partition of a cluster, so that the playbook recover skips it."""
        return boolean(Variables(cluster, task_vars, self._templar).get("kafka_recovery_leave_alone") or False, strict=False)

    def _repository_use(self, cluster: str, arguments: Mapping[str, Any], roles: Iterable[str], task_vars: Mapping[str, Any]) -> str | None:
        """Return what a cluster needs a git repository for, None if it needs none. Plans that are named must be merged only if the cluster requires it."""
        if arguments["gitops"] or repository_check.PROPOSE in roles:
            return arguments["gitops"] or repository_check.PROPOSE
        required = arguments["apply"] and Variables(cluster, task_vars, self._templar).get("kafka_recovery_require_commit")
        return repository_check.APPLY if boolean(required or False, strict=False) else None

    def _run_options(self, clusters: Iterable[str], task_vars: Mapping[str, Any]) -> list[str]:
        arguments = context.CLIARGS
        set_variables = {name for cluster in clusters for name in task_vars["hostvars"][cluster] if name in SET_ALREADY.values()}
        specs = documented_variables.role_options()
        connection = {f"kafka_{option}" for option in CONNECTION_ARGUMENTS} - connection_variables.SECRETS
        shown = connection | {name for name, spec in specs.items() if not spec.get("no_log")}
        return repeated_options.run_options(
            map(self._extra_variables, arguments.get("extra_vars") or ()), arguments, shown, Path.cwd(), set_variables
        )

    def _extra_variables(self, given: str) -> str | Mapping[str, Any]:
        """Return the content of one `-e`: the file that it names, or its variables."""
        if given.startswith("@"):
            return given
        found = self._loader.load(given) if given.startswith(("{", "[")) else parse_kv(given)
        return found if isinstance(found, Mapping) else {}

    def _problems(
        self, cluster: str, clusters: list[str], roles: list[str], apply: bool, gitops: str | None, task_vars: dict[str, Any]
    ) -> Iterator[str]:
        if tuple(map(int, ansible_version.split(".")[:2])) < OLDEST_ANSIBLE:
            yield f"This collection needs ansible-core 2.19 or newer, and this is {ansible_version}"
        variables, known = Variables(cluster, task_vars, self._templar), documented_variables.names()
        yield from variable_names.misspelled_variables(known, variables.names, load_extra_vars(self._loader))
        if local_machine.asks_brokers(roles):
            # Templates of secrets are not evaluated here: a look-up may create a lease in a vault, or fail because the vault is locked.
            connection = variables.some(sorted({f"kafka_{option}" for option in CONNECTION_ARGUMENTS} - connection_variables.SECRETS))
            secrets = dict.fromkeys(connection_variables.SECRETS & variables.names, connection_variables.HIDDEN)
            yield from connection_variables.connection_problems(cluster, {**secrets, **connection})
        if self._is_skipped(cluster, task_vars):
            yield (
                "kafka_recovery_leave_alone is set, but this play does not skip the cluster: set it as a fact of the cluster, or in the inventory, before "
                "the play starts"
            )
        specs = documented_variables.role_options()
        chosen = variables.some(specs)
        yield from variable_values.value_problems(specs, chosen)
        yield from local_machine.home_problems(specs, chosen)
        yield from self._lost_broker_problems(cluster, chosen, task_vars)
        yield from variable_values.conflicts(chosen, {name: chosen.get(name) for name in specs if name in variables.host})
        yield from variable_values.unnamed_revivals(roles, chosen)
        yield from self._machine_problems(variables, clusters, roles, apply, gitops)

    def _lost_broker_problems(self, cluster: str, chosen: Mapping[str, Any], task_vars: Mapping[str, Any]) -> Iterator[str]:
        groups = task_vars.get("groups") or {}
        try:
            lost_brokers.of_cluster(chosen.get(LOST_BROKERS), cluster, groups.get("kafka_clusters") or groups.get("all") or [cluster])
        except RecoveryError as error:
            yield str(error)

    def _machine_problems(
        self, variables: Variables, clusters: list[str], roles: list[str], apply: bool, gitops: str | None
    ) -> Iterator[str]:
        """Yield problems of this machine, if the modules run on it. On other machines the modules report them."""
        connection = variables.get("ansible_connection") or self._connection.transport
        interpreter = variables.get("ansible_python_interpreter")
        if connection not in ("local", "ansible.builtin.local") or self._connection.become:
            return
        if interpreter is None or _is_own(interpreter):
            yield from self._once(local_machine.library_problems, roles)
        if local_machine.java_needed(roles, variables.get("kafka_recovery_spark_remote")):
            yield from self._once(local_machine.java_problems, self._environment())
        yield from self._once(local_machine.store_problems, str(variables.get("kafka_recovery_workdir") or ""))
        workdir = variables.path("kafka_recovery_workdir", DEFAULT_WORKDIR)
        if workdir and not local_machine.WORKDIR_ROLES.isdisjoint(roles):
            yield from self._once(local_machine.workdir_problems, workdir)
        if file := variables.path("kafka_recovery_partitions_file"):
            yield from self._once(local_machine.partitions_file_problems, file)
        if apply and not has_url(variables.get("kafka_recovery_plan_dir")):
            given = "kafka_recovery_plan_dir" in variables.host
            plans = variables.path("kafka_recovery_plan_dir") if given else None
            yield from self._once(local_machine.plan_dir_problems, variables.get("kafka_recovery_plan_dir"), plans, clusters)
        if gitops:
            chosen = {name: variables.get(f"kafka_recovery_{name}") for name in repository_check.VALUES}
            paths = {name: variables.path(f"kafka_recovery_{name}") for name in repository_check.PATHS}
            yield from self._once(repository_check.repository_problems, gitops, chosen, paths, self._environment().get("PATH"))

    def _different_approvals(self, clusters: Iterable[str], task_vars: Mapping[str, Any]) -> str | None:
        """Return which variables of the git repository are not the same for all clusters, None if all are."""
        names = [f"{same_options.PREFIX}{name}" for name in repository_check.SHARED]
        chosen = {cluster: Variables(cluster, task_vars, self._templar).some(names) for cluster in clusters}
        return same_options.difference(
            {cluster: {name.removeprefix(same_options.PREFIX): value for name, value in own.items()} for cluster, own in chosen.items()}
        )

    def _once(self, check: Callable[..., Iterable[str]], *arguments: Any) -> list[str]:
        """Return the problems that a check finds. It runs once for the same arguments, because many clusters share them."""
        key = f"{check.__name__} {arguments}"
        if key not in self._checked:
            self._checked[key] = list(check(*arguments))
        return self._checked[key]

    def _environment(self) -> dict[str, str]:
        """Return the environment of the modules of this play: that of ansible-playbook with the keyword `environment`."""
        environment = dict(os.environ)
        for more in map(self._templar.template, self._task.environment or ()):
            if isinstance(more, Mapping):
                environment |= {name: str(value) for name, value in more.items()}
        return environment


def _too_many_failed(arguments: Mapping[str, Any], batch: Iterable[str], task_vars: Mapping[str, Any]) -> str | None:
    """Return why this batch must not start, None if it may. Called at its start, before any of its own clusters can fail."""
    going_on = set(task_vars.get("ansible_play_hosts") or ())
    failed = [cluster for cluster in task_vars.get("ansible_play_hosts_all") or () if cluster not in going_on]
    return play_clusters.too_many_failed(failed, list(batch), arguments["max_failed_clusters"], arguments["serial"], run_limit(None))


def _line(text: str, concerned: list[str], clusters: list[str]) -> str:
    """Prefix a problem with the clusters that have it, unless all have it."""
    return text if concerned == clusters or text.startswith(tuple(concerned)) else f"{', '.join(concerned)}: {text}"


def _is_own(interpreter: Any) -> bool:
    """Return whether this is the interpreter of ansible-playbook, under any name (python, python3).

    It must be in the same directory, because another virtual environment has other libraries.
    """
    if not isinstance(interpreter, str) or Path(interpreter).parent != Path(sys.executable).parent:
        return False
    return Path(interpreter).resolve() == Path(sys.executable).resolve()
