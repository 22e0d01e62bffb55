# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata quorum: its leader, the lag of its voters, and whether it is stable enough to elect anything (KIP-996).

The verdict needs several observations: a single one cannot show that the leader epoch changes. Only `watch` and its callers do I/O.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import (
    ClusterError,
    RecoveryError,
    UnsupportedRequestError,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum import Quorum, QuorumAccessError, Replica, behind
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum_risks import join_ids

STABLE, CHURNING, NO_LEADER, MAJORITY_BEHIND = "stable", "churning", "no_leader", "majority_behind"

POLL_SECONDS = 0.25


class QuorumObservation(NamedTuple):
    """One observation of the quorum, `seconds` after the watch began. `quorum` is None if no leader answered; `problem` is the reason."""

    seconds: float
    quorum: Quorum | None
    problem: str | None = None


class Stability(NamedTuple):
    """`verdict`: STABLE, CHURNING, NO_LEADER or MAJORITY_BEHIND. `reasons`: sentences; with STABLE, the voters that are behind."""

    verdict: str
    reasons: list[str]


class QuorumSource(Protocol):
    """The method of a cluster that a watch uses."""

    def quorum(self) -> Quorum: ...


def watch(cluster: QuorumSource, window: float) -> list[QuorumObservation]:
    """Describe the quorum repeatedly for `window` seconds, the last time at their end. Returns the observations, oldest first.

    One observation is enough if there is one voter: it holds no elections. A request without an answer takes the cluster's request
    timeout; none is sent after the window. Raises QuorumAccessError if this client may not describe the quorum, UnsupportedRequestError
    if Kafka is too old.
    """
    began = time.monotonic()
    observations: list[QuorumObservation] = []
    while True:
        sent_at = time.monotonic() - began
        try:
            found, problem = cluster.quorum(), None
        except (QuorumAccessError, UnsupportedRequestError):
            raise
        except ClusterError as error:
            found, problem = None, str(error)
        seconds = time.monotonic() - began
        observations[-1:] = map(_without_observers, observations[-1:])
        observations.append(QuorumObservation(seconds, found, problem))
        alone = found is not None and len(found.voters) == 1
        if alone or sent_at >= window or (found is None and seconds >= window):
            return observations
        time.sleep(max(0.0, min(POLL_SECONDS, window - seconds)))


def _without_observers(observation: QuorumObservation) -> QuorumObservation:
    """Return an observation without what `judge` does not need: a broken broker can name thousands of observers and addresses."""
    return (
        observation
        if observation.quorum is None
        else observation._replace(quorum=observation.quorum._replace(observers=(), addresses=MappingProxyType({})))
    )


def resume_watch(cluster: QuorumSource, before: Mapping[str, Any], window: float) -> list[QuorumObservation]:
    """Continue a watch that began with an earlier observation, until it has lasted `window` seconds.

    `before`: the keys `leader_id`, `leader_epoch`, `looked_at` and, to compare voters, `voters` of an earlier `report`. Epochs only
    grow: if the last observation has the same epoch, there was no other leader in between. Raises QuorumAccessError as `watch` does.
    """
    voters = tuple(Replica(**row) for row in before.get("voters") or ())
    began = QuorumObservation(0.0, Quorum(before["leader_id"], before["leader_epoch"], -1, voters, ()))
    # The clock of another machine, or of before a reboot, may show any time: then the whole window remains.
    passed = max(0.0, time.monotonic() - before["looked_at"])
    return [
        began,
        *(observation._replace(seconds=passed + observation.seconds) for observation in watch(cluster, max(0.0, window - passed))),
    ]


def judge(observations: Sequence[QuorumObservation]) -> Stability:
    """Return the verdict over some observations, oldest first. In doubt it is not STABLE.

    A missing answer between two observations of the same epoch does no harm: epochs only grow, so there was no other leader.
    """
    answered = [observation for observation in observations if observation.quorum is not None]
    moves = [move for one, other in pairwise(answered) for move in _moves(one, other)]
    last = observations[-1] if observations else QuorumObservation(0.0, None, "the quorum was not described")
    if last.quorum is None:
        lost = [f"it was {_leader(answered[-1])}, {last.seconds - answered[-1].seconds:.1f} s earlier"] if answered else []
        return Stability(NO_LEADER, [f"no leader of the metadata quorum answers: {last.problem}", *lost, *moves])
    if moves:
        return Stability(CHURNING, moves)
    voters = last.quorum.voters
    reasons = [f"voter {voter.replica_id} {reason}" for voter in voters if (reason := behind(voter, last.quorum.leader_id)) is not None]
    if 2 * (len(voters) - len(reasons)) <= len(voters):
        return Stability(MAJORITY_BEHIND, [f"{len(reasons)} of {len(voters)} voters are behind", *reasons])
    return Stability(STABLE, reasons)


def require_stable_quorum(cluster: QuorumSource, before: Mapping[str, Any], window: float) -> None:
    """Raise RecoveryError unless the quorum has stayed stable since the observation `before`. Parameters and other errors: `resume_watch`."""
    observations = resume_watch(cluster, before, window)
    verdict = judge(observations)
    if verdict.verdict != STABLE:
        seen = f"seen in {observations[-1].seconds:.1f} s: {'; '.join(verdict.reasons)}"
        raise RecoveryError(
            f"nothing was elected: the metadata quorum is not stable ({verdict.verdict}), {seen}; fix the controllers, then run again"
        )


def report(observations: Sequence[QuorumObservation], controllers: Sequence[Mapping[str, Any]], looked_at: float) -> dict[str, Any]:
    """Return the result of `kafka_quorum_info` for these observations, oldest first, without the keys of `model.quorum_risks.assess`.

    `controllers`: as `Controllers.rows` returned them, empty if none is named. `looked_at`: time.monotonic() after the last observation.
    """
    verdict = judge(observations)
    last = observations[-1].quorum
    leaderless = verdict.verdict == NO_LEADER
    return {
        "verdict": verdict.verdict,
        "reasons": verdict.reasons + (_controller_reasons(controllers) if leaderless else []),
        "leader_id": last.leader_id if last else None,
        "leader_epoch": last.leader_epoch if last else None,
        "high_watermark": last.high_watermark if last else None,
        "voters": [voter._asdict() for voter in last.voters] if last else [],
        "observers": [observer._asdict() for observer in last.observers] if last else [],
        "history": history(observations),
        "looks": len(observations),
        "looked_at": looked_at,
        "controllers": list(controllers),
    }


def _controller_reasons(controllers: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each controller that got a direct request, for a quorum whose leader does not answer brokers."""
    states = {True: "leads the quorum, but brokers get no answer from it", False: "answers, and does not lead the quorum"}
    return [f"controller {row['address']} {states.get(row['active']) or row['error']}" for row in controllers]


def history(observations: Iterable[QuorumObservation]) -> list[dict[str, Any]]:
    """Return the first observation and each one that differs from the one before: `seconds`, `leader_id`, `leader_epoch` (None: no answer)."""
    rows: list[dict[str, Any]] = []
    for observation in observations:
        leader, epoch = _place(observation)
        if not rows or (rows[-1]["leader_id"], rows[-1]["leader_epoch"]) != (leader, epoch):
            rows.append({"seconds": round(observation.seconds, 2), "leader_id": leader, "leader_epoch": epoch})
    return rows


def _place(observation: QuorumObservation) -> tuple[int | None, int | None]:
    return (None, None) if observation.quorum is None else (observation.quorum.leader_id, observation.quorum.leader_epoch)


def _leader(observation: QuorumObservation) -> str:
    leader, epoch = _place(observation)
    return f"controller {leader} in epoch {epoch}"


def _moves(one: QuorumObservation, other: QuorumObservation) -> Iterator[str]:
    """Yield a sentence for each change between two observations that makes the quorum CHURNING."""
    within = f"within {other.seconds - one.seconds:.1f} s"
    if _place(one) != _place(other):
        yield f"the leader went from {_leader(one)} to {_leader(other)} {within}"
    if one.quorum is None or other.quorum is None or not one.quorum.voters:
        return
    before, after = one.quorum.members(), other.quorum.members()
    if joined := after.keys() - before.keys():
        yield f"{join_ids(joined)} joined the voters {within}"
    if gone := before.keys() - after.keys():
        yield f"{join_ids(gone)} left the voters {within}"
    for voter in sorted(before.keys() & after.keys()):
        if before[voter] != after[voter]:
            yield f"the directory of voter {voter} changed from {before[voter]} to {after[voter]} {within}: it has another disk"
    if _place(one) == _place(other):
        ends = {voter.replica_id: voter.log_end_offset for voter in one.quorum.voters}
        for replica in other.quorum.voters:
            end = ends.get(replica.replica_id)
            # In one epoch a log only grows, so a voter with fewer records has lost what it had acknowledged (KIP-996, "Disk Loss Scenario").
            if end is not None and replica.log_end_offset is not None and replica.log_end_offset < end:
                yield f"the log of voter {replica.replica_id} went back from offset {end} to {replica.log_end_offset} {within}: it lost its disk"
