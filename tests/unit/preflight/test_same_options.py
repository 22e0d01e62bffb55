# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters that share one plan run must want the same plan."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.same_options import difference, recorded

OPTIONS: dict[str, Any] = {"workdir": "/w", "strategy": "balanced", "spark_conf": {"spark.secret": "hush"}}


def test_clusters_with_the_same_options_are_planned_together() -> None:
    assert difference({}) is None
    assert difference({"east": OPTIONS, "west": {**OPTIONS, "spark_conf": dict(OPTIONS["spark_conf"])}}) is None


def test_clusters_that_want_different_plans_take_two_lines() -> None:
    other = {**OPTIONS, "strategy": "none"}
    text = difference({"east": OPTIONS, "west": other, "north": OPTIONS, "south": OPTIONS})
    first, second = str(text).splitlines()
    assert "kafka_recovery_strategy is not the same" in first and "workdir" not in first
    assert "--limit east,north,south," in second


@pytest.mark.parametrize("other", [{**OPTIONS, "spark_conf": {"spark.secret": "other"}}, {"workdir": "/w", "strategy": "balanced"}])
@pytest.mark.parametrize("turned", [False, True])
def test_no_value_is_shown(other: dict[str, Any], turned: bool) -> None:
    clusters = {"east": OPTIONS, "west": other}
    text = str(difference(dict(reversed(clusters.items())) if turned else clusters))
    assert "kafka_recovery_spark_conf is not the same" in text and "hush" not in text and 'other"' not in text


def test_several_options_are_named_in_one_message() -> None:
    text = str(difference({"east": OPTIONS, "west": {**OPTIONS, "strategy": "none", "workdir": "/x"}}))
    assert "kafka_recovery_workdir, kafka_recovery_strategy are not the same" in text


def test_clusters_of_the_batch_have_their_recorded_options() -> None:
    hosts = {"east": {"wanted": OPTIONS}, "west": {}, "later": {"wanted": OPTIONS}}
    assert recorded("wanted", {"hostvars": hosts, "ansible_play_batch": ["east", "west"]}) == {"east": OPTIONS}
    assert recorded("wanted", {}) == {}
