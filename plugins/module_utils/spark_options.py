# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that say where Spark runs: argument spec, and what `pipeline.session.session` takes of them. Works without PySpark."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.errors import SpokenError

# spark_remote: the server of this workdir (kafka_recovery_spark) where one runs, else a Spark of the module's own.
AUTO = "auto"

SPARK_ARGUMENTS: dict[str, dict[str, Any]] = {
    "spark_master": {"type": "str"},
    "spark_remote": {"type": "str"},
    "spark_conf": {"type": "dict", "default": {}},
}


class PlaceError(SpokenError):
    """The options name two places at once."""


def texts(conf: dict[str, Any]) -> dict[str, str]:
    """Settings as Spark takes them."""
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in conf.items()}


def place(module: AnsibleModule) -> dict[str, Any]:
    """Arguments of `session` from the options of a module that has SPARK_ARGUMENTS and `workdir`. PlaceError where they exclude each other."""
    master, remote = module.params["spark_master"] or None, module.params["spark_remote"] or None
    if master and remote and remote != AUTO:
        raise PlaceError("spark_master and spark_remote are mutually exclusive: Spark runs in one place; leave one of them out")
    return {
        "master": master,
        "remote": remote,
        "conf": texts(module.params["spark_conf"]),
        "workdir": Path(module.params["workdir"]).expanduser().absolute(),
        "warn": module.warn,
    }


def refuse_nothing(module: AnsibleModule, files: Collection[Any], quarantine: Sequence[Mapping[str, str]], what: str) -> None:
    """Fail where there are no files to work with, all of them in `quarantine`. `what`: what they are, "landing file"."""
    if not files:
        reasons = "; ".join(f"{row['path']}: {row['reason']}" for row in quarantine[:5])
        module.fail_json(
            msg=f"no {what} of run {module.params['run_id']} can be used: {reasons or 'there is none'}", quarantine=list(quarantine)
        )
