# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata quorum: who leads it, who follows how closely, and whether it is calm enough to elect anything (KIP-996).

The verdict comes from several looks: one look cannot see a leader epoch that moves. Only `watch` does I/O.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum import Quorum, Refused, Replica, behind

CALM, CHURNING, NO_LEADER, MAJORITY_BEHIND = "calm", "churning", "no_leader", "majority_behind"

LOOK_EVERY = 0.25


class NotCalmError(SpokenError):
    """The quorum is not calm, so nothing can be elected safely."""


class Look(NamedTuple):
    """One look at the quorum, `seconds` after the watch began. `quorum` is None where no leader answered, and `problem` says why."""

    seconds: float
    quorum: Quorum | None
    problem: str | None = None


class Verdict(NamedTuple):
    """`verdict` is one of the four words; `reasons`, in words, what it stands on. With `calm`: what is still worth knowing."""

    verdict: str
    reasons: list[str]


class Described(Protocol):
    """What is needed of a cluster."""

    def quorum(self) -> Quorum: ...


def watch(cluster: Described, window: float) -> list[Look]:
    """Look at the quorum again and again for `window` seconds, the last time at their end.

    One look is enough where there is one voter: it holds no elections. A look that gets no answer takes as long as the cluster's
    request timeout; none is begun after the window. Raises Refused where the quorum may not be described.
    """
    began = time.monotonic()
    looks: list[Look] = []
    while True:
        asked = time.monotonic() - began
        try:
            found, problem = cluster.quorum(), None
        except Refused:
            raise
        except ClusterError as error:
            found, problem = None, str(error)
        seconds = time.monotonic() - began
        looks[-1:] = map(_without_observers, looks[-1:])
        looks.append(Look(seconds, found, problem))
        alone = found is not None and len(found.voters) == 1
        if alone or asked >= window or (found is None and seconds >= window):
            return looks
        time.sleep(max(0.0, min(LOOK_EVERY, window - seconds)))


def _without_observers(look: Look) -> Look:
    """What `judge` needs of a look that is not the last one: a broken broker can name thousands of observers and addresses."""
    return look if look.quorum is None else look._replace(quorum=look.quorum._replace(observers=(), addresses=MappingProxyType({})))


def resumed(cluster: Described, before: Mapping[str, Any], window: float) -> list[Look]:
    """Go on with a watch that began with an earlier look, until `window` seconds lie between that one and the last.

    `before`: what `report` returns of that look, `leader_id`, `leader_epoch`, `looked_at` and, if they are to be compared, `voters`. Epochs
    only grow: if the last look finds the same epoch, there was no other leader in between.
    """
    voters = tuple(Replica(**row) for row in before.get("voters") or ())
    began = Look(0.0, Quorum(before["leader_id"], before["leader_epoch"], -1, voters, ()))
    # Of another machine, or from before a reboot, it may be any time: then the whole window is still to come.
    passed = max(0.0, time.monotonic() - before["looked_at"])
    return [began, *(look._replace(seconds=passed + look.seconds) for look in watch(cluster, max(0.0, window - passed)))]


def judge(looks: Sequence[Look]) -> Verdict:
    """Return the verdict over some looks, oldest first. Doubt is never calm.

    A look without an answer between two of the same epoch is no trouble: epochs only grow, so nobody else led in between.
    """
    answered = [look for look in looks if look.quorum is not None]
    moves = [move for one, other in pairwise(answered) for move in _moves(one, other)]
    last = looks[-1] if looks else Look(0.0, None, "nobody looked")
    if last.quorum is None:
        lost = [f"it was {_leader(answered[-1])}, {last.seconds - answered[-1].seconds:.1f} s earlier"] if answered else []
        return Verdict(NO_LEADER, [f"no leader of the metadata quorum answers: {last.problem}", *lost, *moves])
    if moves:
        return Verdict(CHURNING, moves)
    voters = last.quorum.voters
    reasons = [f"voter {voter.replica_id} {reason}" for voter in voters if (reason := behind(voter, last.quorum.leader_id)) is not None]
    if 2 * (len(voters) - len(reasons)) <= len(voters):
        return Verdict(MAJORITY_BEHIND, [f"{len(reasons)} of {len(voters)} voters are behind", *reasons])
    return Verdict(CALM, reasons)


def stay_calm(cluster: Described, before: Mapping[str, Any], window: float) -> None:
    """Raise NotCalmError unless the quorum has stayed calm since the look `before`; see `resumed`."""
    looks = resumed(cluster, before, window)
    verdict = judge(looks)
    if verdict.verdict != CALM:
        seen = f"seen in {looks[-1].seconds:.1f} s: {'; '.join(verdict.reasons)}"
        raise NotCalmError(
            f"nothing was elected: the metadata quorum is not calm ({verdict.verdict}), {seen}; mend the controllers, then run again"
        )


def report(looks: Sequence[Look], controllers: Sequence[Mapping[str, Any]], looked_at: float) -> dict[str, Any]:
    """What `kafka_quorum_info` returns of these looks and of `Controllers.rows`. `looked_at`: time.monotonic() after the last look.

    What can disturb the quorum later is in `preflight.quorum_risks.assess`.
    """
    verdict = judge(looks)
    last = looks[-1].quorum
    leaderless = verdict.verdict == NO_LEADER
    return {
        "verdict": verdict.verdict,
        "reasons": verdict.reasons + (_told_by(controllers) if leaderless else []),
        "leader_id": last.leader_id if last else None,
        "leader_epoch": last.leader_epoch if last else None,
        "high_watermark": last.high_watermark if last else None,
        "voters": [voter._asdict() for voter in last.voters] if last else [],
        "observers": [observer._asdict() for observer in last.observers] if last else [],
        "history": history(looks),
        "looks": len(looks),
        "looked_at": looked_at,
        "controllers": list(controllers),
    }


def _told_by(controllers: Iterable[Mapping[str, Any]]) -> list[str]:
    """What the controllers themselves say where brokers get no answer."""
    words = {True: "leads the quorum, but brokers get no answer from it", False: "answers, and does not lead the quorum"}
    return [f"controller {row['address']} {words.get(row['active']) or row['error']}" for row in controllers]


def history(looks: Iterable[Look]) -> list[dict[str, Any]]:
    """The first look and every one that differs from the one before: `seconds`, `leader_id`, `leader_epoch` (null: no answer)."""
    rows: list[dict[str, Any]] = []
    for look in looks:
        leader, epoch = _place(look)
        if not rows or (rows[-1]["leader_id"], rows[-1]["leader_epoch"]) != (leader, epoch):
            rows.append({"seconds": round(look.seconds, 2), "leader_id": leader, "leader_epoch": epoch})
    return rows


def _place(look: Look) -> tuple[int | None, int | None]:
    return (None, None) if look.quorum is None else (look.quorum.leader_id, look.quorum.leader_epoch)


def _leader(look: Look) -> str:
    leader, epoch = _place(look)
    return f"controller {leader} in epoch {epoch}"


def _moves(one: Look, other: Look) -> Iterator[str]:
    """What changed between two looks that makes a quorum churn, in words."""
    within = f"within {other.seconds - one.seconds:.1f} s"
    if _place(one) != _place(other):
        yield f"the leader went from {_leader(one)} to {_leader(other)} {within}"
    if one.quorum is None or other.quorum is None or not one.quorum.voters:
        return
    before, after = one.quorum.members(), other.quorum.members()
    if joined := after.keys() - before.keys():
        yield f"{_ids(joined)} joined the voters {within}"
    if gone := before.keys() - after.keys():
        yield f"{_ids(gone)} left the voters {within}"
    for voter in sorted(before.keys() & after.keys()):
        if before[voter] != after[voter]:
            yield f"the directory of voter {voter} changed from {before[voter]} to {after[voter]} {within}: it has another disk"
    if _place(one) == _place(other):
        ends = {voter.replica_id: voter.log_end_offset for voter in one.quorum.voters}
        for replica in other.quorum.voters:
            end = ends.get(replica.replica_id)
            # In one epoch a log only grows, so a voter with records fewer has lost what it had acknowledged (KIP-996, "Disk Loss Scenario").
            if end is not None and replica.log_end_offset is not None and replica.log_end_offset < end:
                yield f"the log of voter {replica.replica_id} went back from offset {end} to {replica.log_end_offset} {within}: it lost its disk"


def _ids(nodes: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(nodes)))
