# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory: answers of all nodes share one budget, from their first bytes on."""

from __future__ import annotations

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.answer_memory import Memory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import limits

MIB = 1 << 20


class Answer:
    """Keeps what it is given to know."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def go_on(self) -> None:
        self.heard.append("go on")

    def give_up(self, reason: str) -> None:
        self.heard.append(reason)


@pytest.fixture
def answers() -> list[Answer]:
    return [Answer() for _number in range(5)]


def test_an_answer_waits_until_others_have_come(answers: list[Answer]) -> None:
    memory = Memory()
    for answer in answers:
        memory.arrive(answer, limits.FRAME_BYTES)
    assert [answer.heard for answer in answers] == [["go on"]] * 2 + [[]] * 3
    memory.end(answers[0])
    assert answers[2].heard == ["go on"]
    memory.end(answers[3])  # its connection ends while it waits
    memory.end(answers[1])
    assert [answer.heard for answer in answers[2:]] == [["go on"], [], ["go on"]]


def test_a_small_answer_does_not_wait_for_a_large_one(answers: list[Answer]) -> None:
    memory = Memory()
    for answer in answers[:3]:
        memory.arrive(answer, limits.FRAME_BYTES)
    memory.arrive(answers[3], MIB)
    assert [answer.heard for answer in answers[2:4]] == [[], ["go on"]]


def test_an_answer_for_which_nothing_will_make_room_is_given_up(answers: list[Answer]) -> None:
    memory = Memory()
    memory.begin_round(None).add("a", limits.KEPT_BYTES)
    memory.decode("b", 40 * MIB)
    memory.arrive(answers[0], 60 * MIB)
    assert answers[0].heard == []
    memory.begin_round(memory.kept)
    memory.hold_partitions(200_000)
    memory.arrive(answers[1], MIB)
    assert answers[1].heard == ["an answer of 1 MiB does not fit in addition to the answers in memory, 238 MiB"]


def test_what_is_read_makes_room(answers: list[Answer]) -> None:
    memory = Memory()
    memory.decode("a", limits.CLIENT_BYTES)
    memory.arrive(answers[0], MIB)
    assert answers[0].heard == []
    memory.read("a")
    assert answers[0].heard == ["go on"]


def test_an_answer_that_does_not_fit_beside_those_that_are_held_is_not_decoded() -> None:
    memory = Memory()
    memory.begin_round(None).add("a", limits.KEPT_BYTES)
    memory.decode("b", limits.CLIENT_BYTES - limits.KEPT_BYTES - 10)
    memory.decode("c", 10)
    with pytest.raises(ValueError, match=r"do not fit .*, 160 MiB"):
        memory.decode("b", 1)
