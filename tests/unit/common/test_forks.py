# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work that processes share, and what is left of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.forks import shared

HERE = os.getpid()


def squares(numbers: Sequence[int]) -> list[int]:
    return [number**2 for number in numbers]


def children() -> list[psutil.Process]:
    return psutil.Process().children()


@given(st.lists(st.integers(), max_size=20), st.integers(0, 4))
def test_results_are_in_order(numbers: list[int], processes: int) -> None:
    assert shared(squares, numbers, processes) == squares(numbers)


def test_more_than_a_pipe_takes() -> None:
    rows = shared(lambda numbers: [{"row": str(number) * 1000} for number in numbers], range(1000), 3)
    assert rows == [{"row": str(number) * 1000} for number in range(1000)]


def test_each_process_has_its_share() -> None:
    processes = shared(lambda numbers: [os.getpid()] * len(numbers), range(6), 3)
    assert processes[:3] == processes[3:] and len({*processes}) == 3 and processes[0] == HERE


def killed(numbers: Sequence[int]) -> list[int]:
    if os.getpid() != HERE:
        os.kill(os.getpid(), signal.SIGKILL)
    return squares(numbers)


def interrupted(numbers: Sequence[int]) -> list[int]:
    if os.getpid() != HERE:
        os.kill(os.getpid(), signal.SIGTERM)
    return squares(numbers)


def failing(numbers: Sequence[int]) -> list[int]:
    if os.getpid() != HERE:
        raise MemoryError
    return squares(numbers)


@pytest.mark.parametrize("work", [killed, interrupted, failing])
def test_a_share_that_is_not_completed_is_done_again(work: Callable[[Sequence[int]], list[int]]) -> None:
    assert shared(work, range(10), 3) == squares(range(10))
    assert not children()


def test_an_error_ends_all_processes() -> None:
    def work(numbers: Sequence[int]) -> list[int]:
        if os.getpid() == HERE:
            raise RuntimeError("of the parent")
        signal.pause()
        return []

    with pytest.raises(RuntimeError, match="of the parent"):
        shared(work, range(10), 3)
    assert not children()
