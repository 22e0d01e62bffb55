# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks what a play needs on this machine: libraries in the right versions, Java, a workdir, files that it reads. Changes nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.java import java_problem
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import check_directory, try_write
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.user_paths import path_problem
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import requested
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.documented_variables import ROOT

SPARK_ROLES = frozenset({"plan", "report", "restore_redundancy", "revive"})
OFFLINE_ROLES = frozenset({"report"})
WORKDIR_ROLES = SPARK_ROLES | {"cleanup", "elect", "propose", "replay", "rescue", "respond", "snapshot", "verify", "watch"}
# Which roles cannot do without a library of requirements.txt. One that is not here can be missing until it is used.
NEEDED_BY = {
    "pyspark": SPARK_ROLES,
    "pandas": SPARK_ROLES,
    "psutil": SPARK_ROLES,
    "orjson": frozenset({"elect", "replay", "rescue", "restore_redundancy", "revive", "snapshot", "watch"}),
    "crc32c": frozenset({"elect", "replay", "rescue"}),
    "confluent-kafka": frozenset({"replay"}),
    "prettytable": frozenset({"snapshot"}),
    "itables": frozenset({"report"}),
    "prometheus-client": frozenset({"report"}),
    "pygal": frozenset({"report"}),
}


def asks_brokers(roles: Collection[str]) -> bool:
    """Return whether a play with these roles sends requests to a cluster. True for a play without roles of this collection."""
    return not roles or not OFFLINE_ROLES.issuperset(roles)


def library_problems(roles: Collection[str], root: Path = ROOT) -> Iterator[str]:
    """Yield a sentence for each library that these roles need and that is missing, or whose version requirements.txt excludes.

    `root`: folder of the collection. The dependencies of a library count, too. Nothing is imported, only metadata is read.
    """
    from packaging.requirements import Requirement  # Ansible itself needs it

    file = root / "requirements.txt"
    lines = [line.partition("#")[0].strip() for line in file.read_text().splitlines()] if file.is_file() else []
    wanted = [requirement for requirement in map(Requirement, filter(None, lines)) if _needs(roles, requirement.name)]
    named = {requirement.name for requirement in wanted}
    for requirement in list(wanted):
        # Dependencies of a library, unless requirements.txt names them: pyarrow, for example, because Spark does not support every version.
        for line in _requires(requirement.name):
            inner = Requirement(line)
            if inner.name not in named and any(
                (inner.marker is None or inner.marker.evaluate({"extra": extra})) for extra in requirement.extras or {""}
            ):
                wanted.append(inner)
    for requirement in wanted:
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            problem = "is not installed"
        else:
            if requirement.specifier.contains(version, prereleases=True):
                continue
            problem = f"has version {version}"
        yield f"{requirement.name} {problem} for {sys.executable}, and {requirement.name}{requirement.specifier} is needed: pip install -r {file}"


def _needs(roles: Collection[str], library: str) -> bool:
    if library == "kafka-python":
        return asks_brokers(roles)
    return not NEEDED_BY.get(library, frozenset()).isdisjoint(roles)


def _requires(library: str) -> list[str]:
    try:
        return metadata.requires(library) or []
    except metadata.PackageNotFoundError:
        return []


def java_needed(roles: Collection[str], spark_remote: object) -> bool:
    """Return whether a play with these roles starts Spark on this machine. `spark_remote`: kafka_recovery_spark_remote, empty by default."""
    return not SPARK_ROLES.isdisjoint(roles) and spark_remote in (None, "")


def java_problems(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence if there is no Java for Spark. `environment`: that of the process that starts Spark."""
    if problem := java_problem(environment):
        yield problem.replace("spark_remote", "kafka_recovery_spark_remote")


def home_problems(specs: Mapping[str, Mapping[str, Any]], values: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each path below the home directory of a user that does not exist. `specs`, `values`: by variable."""
    for name in sorted(values):
        if specs[name].get("type") == "path" and isinstance(values[name], str) and (problem := path_problem(values[name])):
            yield f"{name} {problem}"


def store_problems(workdir: str) -> Iterator[str]:
    """Yield a sentence if a workdir is a URL that is not valid, or if its store cannot be read from here. Writes nothing."""
    if "://" not in workdir and not mounts.begins_as_url(workdir):
        return
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store import mount, urls
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client

    try:
        url = urls.checked("kafka_recovery_workdir", workdir)
    except RecoveryError as error:
        yield str(error)
        return
    try:
        mount.check_library(url)
        with suppress(FileNotFoundError):  # no run has written to the folder yet
            Client(url).get(mount.PROBE)
    except RecoveryError as error:
        yield f"kafka_recovery_workdir: {error}"


def workdir_problems(workdir: Path) -> Iterator[str]:
    """Yield a sentence if a workdir cannot be used or created. Creates nothing; a temporary file shows whether it is writable."""
    try:
        if workdir.is_symlink() or workdir.exists():
            check_directory(workdir)
            try_write(workdir)
            return
        above = next(path for path in workdir.parents if path.exists())
        if not above.is_dir():
            yield f"kafka_recovery_workdir: {workdir} cannot be made, because {above} is a file; choose another workdir"
            return
        try:
            try_write(above)
        except OSError as error:
            yield f"kafka_recovery_workdir: {workdir} cannot be made, because nothing can be written in {above} ({error.strerror}); choose another workdir"
    except RecoveryError as error:
        yield f"kafka_recovery_workdir: {error}"
    except OSError as error:
        yield f"kafka_recovery_workdir: cannot write in {workdir}: {error.strerror}; choose another workdir or correct its permissions"


def partitions_file_problems(path: Path) -> Iterator[str]:
    """Yield a sentence if a file that names partitions cannot be used."""
    try:
        requested(None, str(path))
    except RecoveryError as error:
        yield f"kafka_recovery_{error}"


def plan_dir_problems(given: object, path: Path | None, clusters: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each reason why the plans of `clusters` cannot be read from a directory. One plan is enough.

    `given`: kafka_recovery_plan_dir as it is set. `path`: the directory that it resolves to, None if it is not set.
    """
    name = "kafka_recovery_plan_dir"
    if path is None:
        files = f"CLUSTER.json for at least one of {', '.join(clusters)}"
        yield f"No plan to apply: name the directory with -e {name}=DIR. It has to hold {files}"
        return
    remedy = "name the directory that the playbook plan has printed"
    mounts.list_folder(path)
    shown = path if str(path) == str(given) else f"{given} ({path})"
    if not path.exists():
        yield f"{name} is {shown}, and there is no such directory: {remedy}"
    elif not path.is_dir():
        yield f"{name} is {shown}, which is not a directory: {remedy}, not a file in it"
    elif not os.access(path, os.R_OK | os.X_OK):
        yield f"{name} is {shown}, and this user may not read it: correct its permissions"
    elif not any((path / f"{cluster}.json").exists() for cluster in clusters):
        yield f"No plan to apply: {name} is {shown}, and it has no CLUSTER.json for any of {', '.join(clusters)}: {remedy}"
    else:
        for plan in (path / f"{cluster}.json" for cluster in clusters):
            if plan.exists() and not (plan.is_file() and os.access(plan, os.R_OK)):
                yield f"{name}: {plan} cannot be read by this user: correct its permissions, or plan again"
