# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets among the settings of Spark are in no output and no log, also if they are in the wrong option."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from integration.support import play, run_module
from unit.partition_situations import RUN

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import options
from rig.fleet import inventory, write_inventory

KEY, SECRET = "spark.hadoop.fs.s3a.secret.key", "swordfish-4711"
WRONG = f"{options.CONF}: {KEY} looks like a secret, and logs show it: put it into {options.SECRET_CONF}"
# What a module sends to syslog.
LOGGED = """
import syslog
def log(*given):
    with open({path!r}, "a") as file:
        print(*given, file=file)
syslog.syslog = log
"""


@pytest.mark.parametrize(
    ("module", "option", "conf"),
    [
        ("kafka_recovery_plan", "spark_conf", {KEY: SECRET, "spark.executor.memory": "1g"}),
        ("kafka_recovery_report", "spark_secret_conf", f"{KEY}={SECRET}, spark.executor.memory=1g"),
        ("kafka_recovery_plan", "spark_conf", f"{KEY}={SECRET}"),
        # Ansible itself masks the values of a dict, not those of a text.
        ("kafka_recovery_report", "spark_secret_conf", {KEY: SECRET}),
    ],
)
def test_a_module_neither_shows_nor_logs_a_secret(module: str, option: str, conf: Any, tmp_path: Path) -> None:
    log = tmp_path / "syslog"
    # A report ends at this name, before it starts Spark: what is logged is logged before.
    options = {"workdir": str(tmp_path / "work"), option: conf, "run_id": RUN if module == "kafka_recovery_plan" else "../1"}
    answer = run_module(module, options, check=True, before=LOGGED.format(path=str(log)))
    assert (WRONG in answer.msg) is (option == "spark_conf")
    assert answer.result["invocation"]["module_args"][option] and "Invoked with" in log.read_text()
    assert SECRET not in json.dumps(answer.result) + answer.stderr + log.read_text()


def test_a_playbook_does_not_show_a_secret(tmp_path: Path) -> None:
    hosts = tmp_path / "inventory.yml"
    write_inventory(hosts, inventory({"east": {"kafka_bootstrap_servers": "192.0.2.1:9092"}}))
    (tmp_path / "group_vars").mkdir()
    conf = {KEY: SECRET}
    variables = {
        "kafka_recovery_workdir": str(tmp_path / "work"),
        "kafka_recovery_spark_conf": conf,
        "kafka_recovery_spark_secret_conf": conf,
    }
    (tmp_path / "group_vars" / "all.json").write_text(json.dumps(variables))
    plan = [{"hosts": "kafka_clusters", "connection": "local", "gather_facts": False, "roles": ["streamops.kafka_recovery.plan"]}]
    (tmp_path / "plan.yml").write_text(json.dumps(plan))
    played = play(str(tmp_path / "plan.yml"), hosts, "-vvv", "--check", "--diff", variables={})
    assert played.returncode != 0 and WRONG in played.said.replace("\n", " "), played
    assert SECRET not in played.said
