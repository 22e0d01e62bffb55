# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to change something that were sent and never answered: a broker that hangs may still carry them out, long afterwards.

A broker that answers REQUEST_TIMED_OUT has forwarded the request and heard nothing of it, which is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

Answers = dict[TopicPartition, Refusal | None]


@contextmanager
def noted(make: Callable[[], Any], keys: Collection[TopicPartition], in_doubt: set[TopicPartition]) -> Iterator[Callable[[], Any]]:
    """Yield what makes the request, for a block that returns its first answer. `in_doubt` gets the `keys` if one was sent that was not answered."""
    made: list[Any] = []

    def make_one() -> Any:
        made.append(make())
        return made[-1]

    answered = 0
    try:
        yield make_one
        answered = 1
    finally:
        # A request has a version from the moment on in which it is written to its connection.
        if sum(1 for request in made if request.API_VERSION is not None) > answered:
            in_doubt.update(keys)


def timed_out(refused: Refusal | None) -> bool:
    """Whether this answer leaves open whether the request is carried out."""
    return refused is not None and refused.error == kafka_errors.REQUEST_TIMED_OUT


def note_timeouts(answers: Answers, in_doubt: set[TopicPartition]) -> Answers:
    """Return the answers. `in_doubt` gets the partitions for which a request has timed out."""
    in_doubt.update(key for key, refused in answers.items() if timed_out(refused))
    return answers
