# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What operators hand in at simulated recoveries, moves and replays: files that were reviewed, right and wrong ones, and options of replays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

# Options of kafka_record_replay, each with the values that are drawn for it.
REPLAYS: Mapping[str, tuple[Any, ...]] = {
    "include_aborted": (True,),
    "include_undecided": (True,),
    "target_topic": ("payments",),
    "replayed_bytes_per_second": (50, 500),
    "brokers": ([1], [1, 2], [3]),
    "start_offset": (1, 3, 6),
    "end_offset": (4, 8, 16),
    "end_time": ("2030-01-01T00:00:00Z",),
    "max_batch_bytes": (1, 1 << 20),
    "topics": (["orders"],),
    "groups": (["billing"], []),
    "include_group_offsets": (False,),
}
SELECTING = {"brokers", "start_offset", "end_offset", "max_batch_bytes", "topics"}


# When another tool acts: at one of the first requests of a kind.
REQUESTS = (
    "ElectLeadersRequest", "ElectLeadersRequest", "AlterPartitionReassignmentsRequest", "AlterPartitionReassignmentsRequest",
    "DescribeTopicPartitionsRequest", "ListPartitionReassignmentsRequest", "DescribeConfigsRequest", "IncrementalAlterConfigsRequest"
)  # fmt: skip
ACTS = "reorder_elsewhere", "reorder_elsewhere", "move_elsewhere", "unregister", "deny", "deny"


class Meanwhile(NamedTuple):
    """Another tool does `what` when request number `number` (from 0) of a kind is sent. `numbers`: as those of a step."""

    request: str
    number: int
    what: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class ReviewScript:
    """What operators hand in.

    refuses   whether they ask wrongly before, in many ways: each must be refused, and change nothing
    approves  whether what is done first was proposed and approved before
    replay    options of kafka_record_replay for the first replays
    names     numbers that choose the leaders that an operator names in the first run, None: it elects a plan
    in_file   whether these are in a file of KIP-1275's form
    full      whether a broker has no room for what is moved to it
    offline   seconds without network after the commit of a replay is sent, None: it is not lost
    meanwhile what another tool does right before or after a request, None: nothing
    changes   chooses what changes between plans of later runs and their elections, None: nothing
    """

    refuses: bool = False
    approves: bool = False
    replay: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, int] | None = None
    in_file: bool = False
    full: bool = False
    offline: float | None = None
    meanwhile: Meanwhile | None = None
    changes: int | None = None

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> ReviewScript:
        """Return what was written as JSON."""
        if fields["meanwhile"] is None:
            return cls(**fields)
        request, number, what, numbers = fields["meanwhile"]
        return cls(**{**fields, "meanwhile": Meanwhile(request, number, what, tuple(numbers))})


NO_REVIEW = ReviewScript()


def draw_review(random: Random) -> ReviewScript:
    """Draw what operators hand in."""
    options = random.sample(list(REPLAYS), random.choice((0, 1, 1, 2)))
    return ReviewScript(
        refuses=random.random() < 0.3,
        approves=random.random() < 0.5,
        replay={name: random.choice(REPLAYS[name]) for name in options},
        meanwhile=Meanwhile(
            random.choice(REQUESTS),
            random.choice((0, 0, 1, 1, 2, 3, 5)),
            random.choice(ACTS),
            tuple(random.randrange(1000) for _ in range(4)),
        )
        if random.random() < 0.4
        else None,
        names={"leader": random.randrange(12), "wrong": random.randrange(12)} if random.random() < 0.25 else None,
        in_file=random.random() < 0.3,
        full=random.random() < 0.3,
        offline=random.choice((5.0, 40.0, 60.0)) if random.random() < 0.25 else None,
    )
