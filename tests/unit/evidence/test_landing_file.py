# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text table of replicas."""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.landing_file import table
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import replica_row
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog


def test_the_table_has_a_line_for_each_replica() -> None:
    row = {**replica_row(("orders", 3), 2, ReplicaLog(None, 0, 121, 100, 4)), "fenced": False}
    names, values = table([row]).splitlines()[1:4:2]
    assert names.split("|")[1:4] == [" topic  ", " partition ", " broker_id "]
    assert values.split("|")[1:4] == [" orders ", "     3     ", "     2     "]


def test_without_replicas_there_is_no_table() -> None:
    assert table([]) == ""
