# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Broker states: unfenced, fenced, coming back."""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node, state_rows


def states(rows: list[dict]) -> dict[int, str]:
    return {row["broker_id"]: row["broker_state"] for row in rows}


def test_a_fenced_broker_comes_back_when_it_fetches_or_its_port_answers() -> None:
    nodes = [Node(1, "a", 1, None, True), Node(2, "b", 1, "r", False), Node(3, "c", 1, None, True), Node(4, "d", 1, None, True)]
    rows = state_rows(nodes, {2}, {1: 93.4, 2: 0.1, 3: 0.4}, {4})
    assert states(rows) == {1: "fenced", 2: "unfenced", 3: "coming_back", 4: "coming_back"}
    assert rows[0] == {"broker_id": 1, "broker_state": "fenced", "silent_seconds": 93.4, "rack": None}
    assert rows[1]["rack"] == "r"
    assert rows[3]["silent_seconds"] is None, "it has not fetched since this controller took over"


def test_a_fenced_broker_that_runs_and_does_not_fetch_is_cut_off_and_does_not_come_back() -> None:
    nodes = [Node(1, "a", 1, None, True), Node(2, "b", 1, None, True), Node(3, "c", 1, None, True)]
    assert states(state_rows(nodes, (), {1: 93.4, 3: 0.4}, answering={1, 2, 3}, cut_off={1, 3})) == {
        1: "fenced",
        2: "coming_back",  # its port accepts connections, and nothing answers: it may be about to start
        3: "coming_back",  # it fetches the metadata log
    }


def test_a_broker_that_is_not_registered_is_fenced() -> None:
    """Brokers before Kafka 4.0 list the unfenced ones only: the others are known from replica lists, and by their fetches."""
    assert states(state_rows([Node(1, "a", 1, None, None)], {1, 2, 3}, {2: 60.0, 3: 0.5}, set())) == {
        1: "unfenced",
        2: "fenced",
        3: "coming_back",
    }
