# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands for a shell: whatever a group or topic is called, it stays one word."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.ready_commands import Tools

ORDERS = ("orders", 3)


def test_commands_are_those_of_kafkas_own_tools() -> None:
    tools = Tools("b:9092")
    assert tools.reset("g", "classic", ORDERS, 7) == (
        "kafka-consumer-groups.sh --bootstrap-server b:9092 --group g --reset-offsets --topic orders:3 --to-offset 7 --execute"
    )
    assert tools.reset("g", "Streams", ORDERS, 7) == (
        "kafka-streams-groups.sh --bootstrap-server b:9092 --group g --reset-offsets --input-topic orders:3 --to-offset 7 --execute"
    )
    assert tools.reset_from("g", "", "/w/east.reset-1.csv") == (
        "kafka-consumer-groups.sh --bootstrap-server b:9092 --group g --reset-offsets --from-file /w/east.reset-1.csv --execute"
    )
    assert tools.abort(ORDERS, 97) == "kafka-transactions.sh --bootstrap-server b:9092 abort --topic orders --partition 3 --start-offset 97"
    assert tools.terminate("t-1") == "kafka-transactions.sh --bootstrap-server b:9092 forceTerminateTransaction --transactionalId t-1"


@given(st.text(min_size=1), st.booleans())
def test_a_name_stays_one_word(name: str, secured: bool) -> None:
    tools = Tools("b:1", secured)
    for words in (shlex.split(tools.reset(name, "consumer", ORDERS, 7)), shlex.split(tools.terminate(name))):
        assert words.count(name) >= 1
        assert ("--command-config" in words) == (secured or name == "--command-config")
