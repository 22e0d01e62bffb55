# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of the journal of throttles: numbers are those that a run writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import ContentError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import RUN, read_entry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import LEADER_RATE, LEADER_REPLICAS


def entry(value: str, replica: str) -> dict[str, Any]:
    rates = [{"broker": 1, "config": LEADER_RATE, "before": None, "value": value}]
    replicas = [{"topic": "t", "topic_id": "id", "config": LEADER_REPLICAS, "entries": [replica], "was_empty": False}]
    return {"kind": "set", "owner": RUN, "cluster_id": "abc", "rates": rates, "replicas": replicas, "listed": []}


@pytest.mark.parametrize("value", ["0", "-1", str(2**63 - 1)])
def test_numbers_of_kafka_are_read(value: str) -> None:
    assert read_entry(json.dumps(entry(value, "0:12")).encode()) == entry(value, "0:12")


@pytest.mark.parametrize("value", ["-", "--1", "1 ", "\u0661", "\u00b2", "9" * 20])
def test_other_texts_are_no_rate(value: str) -> None:
    with pytest.raises(ContentError, match="throttle rate"):
        read_entry(json.dumps(entry(value, "0:1")).encode())


@pytest.mark.parametrize("replica", ["0", "0:", ":1", "0:1:2", "0:\u0661", "\u0661:1", "0:\u00b2", "0:-1"])
def test_other_texts_are_no_replica(replica: str) -> None:
    with pytest.raises(ContentError, match="list of throttled replicas"):
        read_entry(json.dumps(entry("1", replica)).encode())
