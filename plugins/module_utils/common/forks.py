# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shares work among processes: Python's threads use one core. With the standard library alone, and without processes that outlive their parent."""

from __future__ import annotations

import marshal
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.signals import SIGNALS, critical_section

T = TypeVar("T")
R = TypeVar("R")


def shared(work: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T], processes: int) -> list[R]:
    """Return what `work` returns for the items, one result for each, in order. Each process works on every n-th item.

    `work` must read only, and return values of Python's built-in types. What it raises is raised here.
    A process that does not complete its share leaves it to this one.
    """
    if processes < 2:
        return list(work(items))
    results: list[R | None] = [None] * len(items)
    with _children(work, [items[number::processes] for number in range(1, processes)]) as pipes:
        results[::processes] = work(items[::processes])
        for number, pipe in enumerate(pipes, start=1):
            done = _received(pipe)
            results[number::processes] = work(items[number::processes]) if done is None else done
    return results  # type: ignore[return-value]  # all of them are set


@contextmanager
def _children(work: Callable[[Sequence[T]], Sequence[R]], shares: Sequence[Sequence[T]]) -> Iterator[list[int]]:
    """Start a process for each share. Yield pipes from which the results come. All processes end with the context."""
    children, pipes = list[int](), list[int]()
    try:
        for share in shares:
            reader, writer = os.pipe()
            pipes.append(reader)
            with critical_section():  # a signal must not raise in the child
                child = os.fork()
                if child == 0:
                    _work_and_exit(work, share, writer)
                children.append(child)
            os.close(writer)
        yield pipes
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)  # one that has ended is not yet waited for, so no other process has its number
            os.waitpid(child, 0)
        for pipe in pipes:
            os.close(pipe)


def _work_and_exit(work: Callable[[Sequence[T]], Sequence[R]], share: Sequence[T], writer: int) -> None:
    """Send the results to the parent. Without a reader the process ends by SIGPIPE, or with this share."""
    status = 1
    try:
        for number in (*SIGNALS, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        with os.fdopen(writer, "wb") as pipe:
            marshal.dump(list(work(share)), pipe)
        status = 0
    finally:
        os._exit(status)


def _received(pipe: int) -> list[Any] | None:
    """Return the results of a process, None if it did not complete its share."""
    try:
        with os.fdopen(pipe, "rb", closefd=False) as results:
            return list(marshal.load(results))
    except (EOFError, ValueError, TypeError):
        return None
