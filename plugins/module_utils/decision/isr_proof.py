# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ISR history proves: which survivors hold every committed record. Pure.

Since Kafka 3.7 nothing is committed while the ISR is smaller than min.insync.replicas. So a replica since whose leaving the ISR has always been
smaller holds every committed record: it had them all when it left, none was committed since, and to follow a clean leader never truncates one.
Unless it has lost the end of its log since, in a power cut or with its disk: so where logs fork, it proves a branch only if its log reaches into it.

A lost member of the ISR or ELR had every committed record, whatever min.insync.replicas was. If its log is known, the survivors that agree longest with it
hold every committed record that any survivor holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import History, RecordedState, State

# 3.7-IV0: with it finalized every broker runs 3.7 or later. Before, a small ISR committed too.
SOUND_METADATA_VERSION = 15


class IsrProof(NamedTuple):
    """`holders`: survivors which hold every committed record. `left_last`: the survivors that left the ISR last, and when (milliseconds since 1970).

    gap          why a history does not prove who holds every committed record; None if it does, or if none was read
    undisturbed  whether it shows that nothing since the first survivor left has given up committed records: a lost member of the ISR had them all
    members      if undisturbed: such lost members whose logs are known, and whose end is on one branch of each fork
    agreeing     the survivors than which no other one agrees longer with the log of any of `members`
    """

    holders: tuple[int, ...] = ()
    left_last: tuple[int, ...] = ()
    left_at: int | None = None
    gap: str | None = None
    undisturbed: bool = False
    members: tuple[int, ...] = ()
    agreeing: tuple[int, ...] = ()


def isr_proof(state: State, history: History | None, survivors: Sequence[int]) -> IsrProof:
    """Return what the history proves about the survivors, given in the order of the assignment."""
    if history is None or not survivors:
        return IsrProof()
    changes = history.changes
    # Positions in the history: the last at which each survivor was in the ISR, and the last at which records could be committed.
    inside = {broker: _last(place for place, change in enumerate(changes) if broker in change.isr) for broker in survivors}
    least = history.min_insync_replicas
    committing = _last(place for place, change in enumerate(changes) if least is not None and len(change.isr) >= least)
    holders = tuple(broker for broker, place in inside.items() if place >= committing)
    latest = max(inside.values())
    left_last: tuple[int, ...] = ()
    left_at = None
    if latest >= 0 and history.doubt is None:
        left_last = tuple(broker for broker, place in inside.items() if place == latest)
        left_at = changes[latest + 1].timestamp if latest + 1 < len(changes) else None
    disturbance = next(_disturbances(state, history, inside), None)
    gap = disturbance or next(_commits(history, holders), None)
    return IsrProof(() if gap else holders, left_last, left_at, gap, disturbance is None)


def without_holders(proof: IsrProof, shorter: Collection[int]) -> IsrProof:
    """Return the proof without the holders `shorter`, whose logs end where other logs fork, or before: they may have lost the end that was committed."""
    if not shorter:
        return proof
    left = tuple(broker for broker in proof.holders if broker not in shorter)
    names = ", ".join(f"broker {broker}" for broker in sorted(shorter))
    gap = f"{names}, which left the ISR last, holds nothing beyond the fork: its log may have lost its end in a power cut or with its disk"
    return proof._replace(holders=left, gap=None if left else gap)


def _last(places: Iterable[int]) -> int:
    return max(places, default=-1)


def _disturbances(state: State, history: History, inside: dict[int, int]) -> Iterator[str]:
    """Yield why the history proves nothing about any log, the most specific reason first."""
    changes, earliest = history.changes, min(inside.values())
    if history.doubt is not None:
        yield history.doubt
    if not changes or changes[-1].leader >= 0 or changes[-1].leader_epoch != state.leader_epoch:
        yield "it does not end where the partition stands"
    if unseen := [broker for broker, place in inside.items() if place < 0]:
        yield f"it does not go back to a moment when these were in the ISR: brokers {', '.join(map(str, unseen))}"
    # What happened after the moment from which on a survivor was missing in the ISR.
    since = changes[earliest + 1 :] if earliest >= 0 else ()
    if any(change.unclean for change in since):
        yield "there was an unclean election"
    if any(change.reassigned for change in since):
        yield "its replicas were reassigned"
    if _lost_its_leader_and_got_one_back(changes, earliest):
        yield "it lost its last leader before and got one back, and whether that one had lost the end of its log is not known"
    if {*inside} & {*state.isr, *state.eligible_leader_replicas, *state.last_known_elr}:
        yield "a survivor is in the ISR, ELR or last known ELR"


def _commits(history: History, holders: tuple[int, ...]) -> Iterator[str]:
    """Yield why records may have been committed after all survivors had left the ISR, the most specific reason first."""
    if history.metadata_version is None:
        yield "metadata.version of that time is not known: brokers before 3.7-IV0 commit records with an ISR smaller than min.insync.replicas"
    elif history.metadata_version < SOUND_METADATA_VERSION:
        yield "metadata.version was below 3.7-IV0, and such brokers commit records with an ISR smaller than min.insync.replicas"
    if history.min_insync_replicas is None:
        yield (
            "min.insync.replicas was not set for the topic or the cluster all the time, and what the files of brokers said then cannot be proven"
        )
    if not holders:
        yield (
            "records could be committed after all survivors had left the ISR "
            f"(min.insync.replicas was {'null' if history.min_insync_replicas is None else history.min_insync_replicas})"
        )


def _lost_its_leader_and_got_one_back(changes: Sequence[RecordedState], earliest: int) -> bool:
    led = _last(place for place, change in enumerate(changes) if change.leader >= 0)
    return any(change.leader < 0 for change in changes[max(0, earliest) : max(0, led)])
