# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of Kafka's own tools: each is the right one, and shown so that it can be pasted."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.kafka_cli import Tools

ORDERS = ("orders", 3)


def test_commands_are_those_of_kafkas_own_tools(tmp_path: Path) -> None:
    tools = Tools("b:9092", Commands(tmp_path))
    assert tools.reset("g", "classic", ORDERS, 7) == (
        "kafka-consumer-groups.sh --bootstrap-server b:9092 --group g --reset-offsets --topic orders:3 --to-offset 7 --execute"
    )
    assert tools.reset("g", "Streams", ORDERS, 7) == (
        "kafka-streams-groups.sh --bootstrap-server b:9092 --group g --reset-offsets --input-topic orders:3 --to-offset 7 --execute"
    )
    assert tools.reset_from("g", "", Path("/w/east.reset-1.csv"), b"") == (
        "kafka-consumer-groups.sh --bootstrap-server b:9092 --group g --reset-offsets --from-file /w/east.reset-1.csv --execute"
    )
    assert tools.abort(ORDERS, 97) == "kafka-transactions.sh --bootstrap-server b:9092 abort --topic orders --partition 3 --start-offset 97"
    assert tools.terminate("t-1") == "kafka-transactions.sh --bootstrap-server b:9092 forceTerminateTransaction --transactionalId t-1"


def test_a_name_that_looks_like_an_option_is_one_word_with_its_own(tmp_path: Path) -> None:
    tools = Tools("b:9092", Commands(tmp_path), secured=True)
    assert "--command-config ADMIN.properties --group=--all-groups " in (tools.reset("--all-groups", "", ORDERS, 7) or "")
    assert (tools.terminate("-x") or "").endswith(" --transactionalId=-x")


def test_one_script_serves_all_partitions_of_a_group(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    tools = Tools("b:9092", commands)
    lines = [tools.reset("it's", "", ("orders", number), number) or "" for number in range(100)]
    commands.write()
    (script,) = (tmp_path / "commands").iterdir()
    assert lines[7] == f"bash {script} --topic orders:7 --to-offset 7 --execute"


@pytest.mark.parametrize("topic", ["a:0,b", "a,b", "*", ".", "..", "", "a" * 250, "it's"])
def test_a_name_that_no_topic_can_have_has_no_command(topic: str, tmp_path: Path) -> None:
    """The tools read several partitions from `a:0,b:0`."""
    tools = Tools("b:9092", Commands(tmp_path))
    assert tools.reset("g", "", (topic, 0), 7) is None and tools.reset("g", "streams", (topic, 0), 7) is None
    assert tools.abort((topic, 0), 7) is None


def test_a_share_group_is_reset_to_a_time_or_to_the_first_record(tmp_path: Path) -> None:
    tools = Tools("b:9092", Commands(tmp_path))
    begin = "kafka-share-groups.sh --bootstrap-server b:9092 --group g --reset-offsets"
    keys = [("orders", 3), ("audit", 0), ("orders", 1)]
    assert tools.reset_share("g", keys, 1796096992766) == (
        f"{begin} --topic audit:0 --topic orders:1,3 --to-datetime 2026-12-01T03:49:52.766+00:00 --execute"
    )
    for unusable in (None, -1, 2**63 - 1):
        assert tools.reset_share("g", [ORDERS], unusable) == f"{begin} --topic orders:3 --to-earliest --execute"
    assert tools.reset_share("g", [ORDERS, ("a:0,b", 0)], None) is None
