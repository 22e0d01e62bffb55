# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that say where Spark runs and with which settings: argument spec, and the arguments of `spark.session.session`. Works without PySpark."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

CONF_ARGUMENTS: dict[str, dict[str, Any]] = {
    # Ansible logs options before a module can refuse them, and spark_conf may have a secret by mistake.
    "spark_conf": {"type": "dict", "default": {}, "no_log": True},
    "spark_secret_conf": {"type": "dict", "default": {}, "no_log": True},
}
SPARK_ARGUMENTS: dict[str, dict[str, Any]] = {
    "spark_master": {"type": "str"},
    "spark_remote": {"type": "str"},
    **CONF_ARGUMENTS,
}
SECRET = re.compile(
    r"secret|passw(or)?d|passphrase|token|credential|(access|account|private|api|encryption)[._-]?key|\.sas\.", re.IGNORECASE
)
# The name of a class, such as spark.hadoop.fs.s3a.aws.credentials.provider.
NO_SECRET = ".provider"
JAVA_OPTIONS = "javaoptions"
# As messages name them: the option of a module, and the variable of a playbook.
CONF, SECRET_CONF = "spark_conf (kafka_recovery_spark_conf)", "spark_secret_conf (kafka_recovery_spark_secret_conf)"
ON_COMMAND_LINE = "it is on the command line of Java, which all users of the host can read: leave it out"


def stringify_conf(conf: dict[str, Any]) -> dict[str, str]:
    """Return settings with values as Spark accepts them: text, booleans as true and false."""
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in conf.items()}


def settings(module: AnsibleModule) -> tuple[dict[str, str], dict[str, str]]:
    """Return spark_conf and spark_secret_conf of a module with CONF_ARGUMENTS. Raises RecoveryError if spark_conf seems to have a secret, or if
    spark_secret_conf has one that Spark would put on a command line."""
    conf, secrets = stringify_conf(module.params["spark_conf"]), stringify_conf(module.params["spark_secret_conf"])
    # Ansible does not mask the values of a dict that was given as a string.
    module.no_log_values |= {value for value in (*conf.values(), *secrets.values()) if value}
    for name, value in conf.items():
        if name.lower().endswith(JAVA_OPTIONS) and SECRET.search(value):
            raise RecoveryError(f"{CONF}: {name} has what looks like a secret; {ON_COMMAND_LINE}")
        if SECRET.search(name) and not name.endswith(NO_SECRET) and value not in ("true", "false"):
            raise RecoveryError(f"{CONF}: {name} looks like a secret, and logs show it: put it into {SECRET_CONF}")
    for name in secrets:
        if name.lower().endswith(JAVA_OPTIONS):
            raise RecoveryError(f"{SECRET_CONF}: {name} cannot be kept secret; {ON_COMMAND_LINE}")
    module.no_log_values -= set(conf.values()) - set(secrets.values())
    return conf, secrets


def session_arguments(module: AnsibleModule) -> dict[str, Any]:
    """Return the keyword arguments of `session.session`, from the options of a module with SPARK_ARGUMENTS and `workdir`.

    Raises RecoveryError if the options name two places, and as `settings` does.
    """
    master, remote = module.params["spark_master"] or None, module.params["spark_remote"] or None
    if master and remote:
        raise RecoveryError("spark_master and spark_remote are mutually exclusive: Spark runs in one place; leave one of them out")
    conf, secrets = settings(module)
    return {
        "master": master,
        "remote": remote,
        "conf": conf,
        "secrets": secrets,
        "workdir": Path(module.params["workdir"]).absolute(),
    }


def fail_if_no_input(module: AnsibleModule, files: Collection[Any], quarantine: Sequence[Mapping[str, str]], what: str) -> None:
    """Fail the module if `files` is empty. `quarantine`: rows with path and reason, for the message; `what`: the kind of file, "landing file"."""
    if not files:
        reasons = "; ".join(f"{row['path']}: {row['reason']}" for row in quarantine[:5])
        module.fail_json(
            msg=f"no {what} of run {module.params['run_id']} can be used: {reasons or 'there is none'}", quarantine=list(quarantine)
        )
