# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The alert rules, by Prometheus' own rule tests: every alert fires when it should, and ends."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from repository_root import ROOT

RULES = ROOT / "roles/report/files/kafka_recovery.rules.yml"
TESTS = Path(__file__).with_name("kafka_recovery.rules.test.yml")


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is missing: apt-get install prometheus")
@pytest.mark.parametrize("arguments", [["check", "rules", str(RULES)], ["test", "rules", str(TESTS)]], ids=["check", "test"])
def test_promtool_finds_nothing_wrong(arguments: list[str]) -> None:
    ran = subprocess.run(["promtool", *arguments], check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_alert_is_tested_both_ways() -> None:
    alerts = {rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"] if "alert" in rule}
    cases = [case for test in yaml.safe_load(TESTS.read_text())["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case["exp_alerts"]} == alerts
    assert {case["alertname"] for case in cases if not case["exp_alerts"]} == alerts
