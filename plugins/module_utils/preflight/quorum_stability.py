# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata quorum: who leads it, who follows how closely, and whether it is calm enough to elect anything (KIP-996).

The verdict comes from several looks: one look cannot see a leader epoch that moves. Only `watch` does I/O.
"""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError

CALM, CHURNING, NO_LEADER, MAJORITY_BEHIND = "calm", "churning", "no_leader", "majority_behind"

# Voters fetch at least every 0.5 s, and the leader writes a record every 0.5 s where nothing else happens
# (metadata.max.idle.interval.ms). 3 s is when the leader itself gives up for want of a majority: 1.5 times
# controller.quorum.fetch.timeout.ms, whose default is 2 s.
BEHIND_AFTER = 3.0
LOOK_EVERY = 0.25
LONGEST_NAME = 255  # of a host, by the rules of DNS
PRE_VOTE_SINCE = 2  # version of Vote that has the field PreVote; KIP-996's draft says 1, which KIP-853 took first


class Refused(ClusterError):
    """The principal may not describe the quorum."""


class NotCalmError(SpokenError):
    """The quorum is not calm, so nothing can be elected safely."""


class Replica(NamedTuple):
    """A voter or observer as the leader sees it. Offsets in records, times in seconds; None where the leader does not know."""

    replica_id: int
    directory_id: str | None
    log_end_offset: int | None
    lag: int | None
    seconds_since_fetch: float | None
    seconds_since_caught_up: float | None


class Quorum(NamedTuple):
    """One DescribeQuorum answer. `leader_id` is one of the voters' `replica_id`.

    `addresses`: host:port of each listener of the voters, with the voter's id. Kafka before 3.9 does not return them.
    """

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...]
    addresses: Mapping[str, int] = MappingProxyType({})

    def members(self) -> dict[int, str | None]:
        """The directory of each voter: with `kraft.version` 1 a voter is an id and a directory (KIP-853)."""
        return {voter.replica_id: voter.directory_id for voter in self.voters}

    def followers(self) -> set[int]:
        """Ids of the nodes whose copy of the metadata log is up to date, as `behind` has it. A node with several directory ids counts with the best."""
        return {replica.replica_id for replica in (*self.voters, *self.observers) if behind(replica, self.leader_id) is None}

    def silence(self) -> dict[int, float]:
        """Seconds since each node last fetched the metadata log, on the active controller's clock. Nodes that never fetched are absent."""
        silent: dict[int, float] = {}
        for replica in (*self.voters, *self.observers):
            # A broker that is a controller too is a voter. One id can stand here more than once, with different directory ids: the latest
            # sign of life counts.
            if (seconds := replica.seconds_since_fetch) is not None:
                silent[replica.replica_id] = min(seconds, silent.get(replica.replica_id, seconds))
        return silent


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


def read(answer: Any) -> Quorum:
    """Build from a DescribeQuorum answer without errors. Times count from the newest that the leader names: its own clock, now."""
    row = answer.topics[0].partitions[0]
    replicas = [*row.current_voters, *row.observers]
    now = max((stamp for replica in replicas for stamp in (replica.last_fetch_timestamp, replica.last_caught_up_timestamp)), default=-1)
    ends = {replica.replica_id: replica.log_end_offset for replica in row.current_voters}
    end = ends.get(row.leader_id, max(ends.values(), default=-1))

    def since(stamp: int) -> float | None:
        return (now - stamp) / 1000 if stamp > 0 else None

    def read_replica(replica: Any) -> Replica:
        known = replica.log_end_offset >= 0
        return Replica(
            replica.replica_id,
            _directory(replica.replica_directory_id),
            replica.log_end_offset if known else None,
            end - replica.log_end_offset if known else None,
            since(replica.last_fetch_timestamp),
            since(replica.last_caught_up_timestamp),
        )

    return Quorum(
        row.leader_id,
        row.leader_epoch,
        row.high_watermark,
        tuple(map(read_replica, row.current_voters)),
        tuple(map(read_replica, row.observers)),
        {
            f"{place.host}:{place.port}": node.node_id
            for node in answer.nodes or ()
            for place in node.listeners
            if len(place.host) <= LONGEST_NAME
        },
    )


def _directory(value: uuid.UUID | None) -> str | None:
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=") if value and value.int else None


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


def behind(voter: Replica, leader_id: int) -> str | None:
    """Why a voter (or an observer) does not follow closely, in words; None where it does. The leader is never behind.

    Lag alone says nothing, because the leader writes all the time; neither does time alone, where it writes nothing.
    """
    if voter.replica_id == leader_id:
        return None
    if voter.lag is None:
        return "has not fetched the metadata log since the leader took over"
    if voter.seconds_since_fetch is not None and voter.seconds_since_fetch > BEHIND_AFTER:
        return f"last fetched the metadata log {voter.seconds_since_fetch:.1f} s ago, {voter.lag} records behind"
    if voter.lag > 0 and (voter.seconds_since_caught_up is None or voter.seconds_since_caught_up > BEHIND_AFTER):
        when = "never" if voter.seconds_since_caught_up is None else f"{voter.seconds_since_caught_up:.1f} s ago"
        return f"lags {voter.lag} records behind, last caught up: {when}"
    return None


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
