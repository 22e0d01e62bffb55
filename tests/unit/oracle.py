# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of decision once more, in plain Python over the rows of one sound partition, to compare Spark's answers with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    section: str
    reason: str | None
    evidence: str | None
    ranked: tuple[int, ...]
    identical: tuple[int, ...]
    truncated: tuple[tuple[int, int | None], ...]


class Partition:
    """The rows of one partition, indexed."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.state = next(row for row in rows if row["kind"] == "partition")
        self.replicas = {row["broker_id"]: row for row in rows if row["kind"] == "replica"}
        self.pairs = {(row["broker_a"], row["broker_b"]): row for row in rows if row["kind"] == "pair"}
        self.points = [
            (broker, row["high_watermark"])
            for broker, row in self.replicas.items()
            if row["log_end_offset"] is not None and row["high_watermark"]
        ]
        self.points += [(row["broker_id"], row["offset"]) for row in rows if row["kind"] == "proof" and row["held"]]
        self.history = next((row for row in rows if row["kind"] == "history"), None)
        self.survivors = [broker for broker in self.state["replicas"] if self.replicas[broker]["log_end_offset"] is not None]

    def pair(self, one: int, other: int) -> Row:
        return self.pairs[min(one, other), max(one, other)]

    def end(self, broker: int) -> int:
        return int(self.replicas[broker]["log_end_offset"])

    def held(self, broker: int, point: tuple[int, int]) -> int:
        """How much of what a point proves committed the broker's log is known to hold."""
        holder, offset = point
        return offset if holder == broker else min(offset, self.pair(broker, holder)["common_offset"] or 0)

    def proven(self, broker: int) -> int:
        return max((self.held(broker, point) for point in self.points), default=0)

    def complete(self) -> list[int]:
        """The survivors since whose leaving the ISR was always smaller than min.insync.replicas, where the history can be believed."""
        past = self.history
        if past is None or past["doubt"] or (past["metadata_version"] or 0) < 15 or past["min_insync_replicas"] is None:
            return []
        changes = past["changes"]
        if changes[-1]["leader"] >= 0 or changes[-1]["leader_epoch"] != self.state["leader_epoch"]:
            return []
        if {*self.state["isr"], *self.state["eligible_leader_replicas"], *self.state["last_known_elr"]} & set(self.survivors):
            return []
        found = []
        for broker in self.survivors:
            inside = [place for place, change in enumerate(changes) if broker in change["isr"]]
            if not inside:
                return []
            since = changes[inside[-1] + 1 :]
            while_led = [change["leader"] >= 0 for change in changes[inside[-1] :]]
            came_back = any(not led and any(while_led[place:]) for place, led in enumerate(while_led))
            if came_back or any(change["unclean"] or change["reassigned"] for change in since):
                return []
            if all(len(change["isr"]) < past["min_insync_replicas"] for change in since):
                found.append(broker)
        return found

    def resolved(self, broker: int) -> bool:
        """Whether the broker's log holds all that one of the complete ones holds."""
        return any(holder == broker or self.follows(holder, broker) for holder in self.complete())

    def holds_all_points(self, broker: int) -> bool:
        return all(self.held(broker, point) >= point[1] for point in self.points)

    def rank(self, broker: int, ranking: str) -> tuple[int, ...]:
        row, place = self.replicas[broker], self.state["replicas"].index(broker)
        if ranking == "kip1275":
            return -row["partition_leader_epoch"], -self.end(broker), place
        epoch = row["last_written_epoch"]
        return -self.proven(broker), -int(self.resolved(broker)), -(-2 if epoch is None else epoch), -self.end(broker), place

    def follows(self, other: int, winner: int) -> bool:
        """Whether the other's log is the winner's, or a prefix of it."""
        pair = self.pair(other, winner)
        return pair["relation"] == "same" or (pair["relation"] == "prefix" and pair["shorter"] == other)


def evidence(partition: Partition, winner: int) -> str:
    others = [broker for broker in partition.survivors if broker != winner]
    for other in others:
        common = partition.pair(winner, other)["common_offset"]
        if (partition.replicas[other]["high_watermark"] or 0) > (partition.end(winner) if common is None else common):
            return "below_high_watermark"
    if any(partition.replicas[broker]["last_written_epoch"] is None for broker in partition.survivors):
        return "weak"
    if any(row["error"] or row["broker_state"] == "coming_back" for row in partition.replicas.values()) or any(
        partition.pair(winner, other)["relation"] == "unknown" for other in others
    ):
        return "incomplete"
    if all(partition.follows(other, winner) for other in others):
        return "prefix"
    branches = [broker for broker in partition.survivors if partition.resolved(broker)]
    if branches and not any(partition.holds_all_points(broker) for broker in branches):
        return "contradicted"
    if winner in branches and partition.holds_all_points(winner):
        return "forked_resolved"
    greatest = max((offset for _, offset in partition.points), default=0)
    holders = [broker for broker in partition.survivors if partition.proven(broker) >= greatest]
    left_out = [other for other in others if partition.pair(other, winner)["relation"] == "forked" and other not in holders]
    contradicted = any(partition.held(winner, point) < point[1] for point in partition.points)
    followed = all(partition.follows(other, winner) for other in holders if other != winner)
    if greatest and winner in holders and left_out and followed and not contradicted:
        return "forked_proven"
    return "forked"


def verdict(rows: Sequence[Row], strategy: str, ranking: str) -> Verdict:
    partition = Partition(rows)
    state = partition.state
    if state["leader"] >= 0:
        return Verdict("online", None, None, (), (), ())
    ranked = tuple(sorted(partition.survivors, key=lambda broker: partition.rank(broker, ranking)))
    found = evidence(partition, ranked[0]) if ranked else "no_survivor"
    identical = tuple(
        broker
        for broker in state["replicas"]
        if ranked and (broker == ranked[0] or (broker in ranked and partition.pair(broker, ranked[0])["relation"] == "same"))
    )
    truncated = tuple(
        (other, common)
        for other in partition.survivors
        if other not in identical
        and ((common := partition.pair(other, ranked[0])["common_offset"]) is None or common < partition.end(other))
    )
    reason = _reason(partition, ranked, found, strategy)
    return Verdict("held" if reason else "partitions", reason, found, ranked, identical, truncated)


def _reason(partition: Partition, ranked: tuple[int, ...], found: str, strategy: str) -> str | None:
    state = partition.state
    if strategy == "none":
        return "strategy_none"
    if strategy == "balanced" and _waits(partition):
        return "wait_for_clean_leader"
    if found == "no_survivor" or (strategy == "balanced" and found not in ("prefix", "forked_resolved")):
        return found
    if not state["named"] and (found in ("below_high_watermark", "contradicted") or state["topic"] == "__transaction_state"):
        return "must_be_named"
    order = [*ranked, *(broker for broker in state["replicas"] if broker not in ranked)]
    live = [broker for broker in state["replicas"] if partition.replicas[broker]["broker_state"] != "fenced"]
    if state["reassigning"] and live != [broker for broker in order if broker in live]:
        return "reassignment_in_progress"
    return None


def _waits(partition: Partition) -> bool:
    """Whether a broker that the controller would elect is there or coming back. A member that is gone for good stands before the last known leader."""
    state = partition.state
    there = {broker for broker, row in partition.replicas.items() if row["broker_state"] != "fenced"}
    isr, elr, known = ({*state[name]} for name in ("isr", "eligible_leader_replicas", "last_known_elr"))
    if isr & there or not isr <= there:
        return bool(isr & there)
    if elr & there or not elr <= there:
        return bool(elr & there)
    return len(known) == 1 and known <= there


def bounds(rows: Sequence[Row], collected_at: int, ranking: str = "last_written_epoch") -> dict[str, Any]:
    """The loss of electing the best survivor, as a plan states it."""
    partition = Partition(rows)
    ranked = sorted(partition.survivors, key=lambda broker: partition.rank(broker, ranking))
    gaps = ["compaction"] if "compact" in (partition.state.get("cleanup_policy") or "compact") else []
    if not ranked:
        return _stated(None, None, None, gaps)
    winner = ranked[0]
    seen = next((row for row in rows if row["kind"] == "healthy"), None)
    if seen and (seen["topic_id"] != partition.state["topic_id"] or seen["leader_epoch"] > partition.state["leader_epoch"]):
        seen = None
    lower = max(_proven(rows, partition, winner, seen), default=None)
    upper = min(_held_elsewhere(partition, winner), default=None)
    if evidence(partition, winner) == "contradicted" or (upper and lower and upper[0] < lower[0]) or _contradicted(partition):
        upper = None
    guess = None
    until = (partition.history or {}).get("offline_since") or collected_at
    if seen and seen["append_rate"] is not None and seen["observed_at"] <= min(until, collected_at):
        grown = seen["log_end_offset"] + int(seen["append_rate"] * (until - seen["observed_at"]) / 1000)
        guess = min(max(grown - partition.end(winner), lower[0] if lower else 0), upper[0] if upper else 2**63)
    return _stated(lower, upper, guess, gaps)


def _stated(lower: tuple[int, int, str] | None, upper: tuple[int, int] | None, guess: int | None, gaps: list[str]) -> dict[str, Any]:
    return {
        "lower_bound": lower[0] if lower else None,
        "lower_bound_from": lower[2] if lower else "none",
        "upper_bound": upper[0] if upper else None,
        "upper_bound_from": ("isr_history", "elr", "isr", "all_replicas")[upper[1]] if upper else "unknown",
        "estimate": guess,
        "estimate_from": "none" if guess is None else "healthy_snapshot",
        "gaps": gaps,
    }


def _proven(rows: Sequence[Row], partition: Partition, winner: int, seen: Row | None) -> list[tuple[int, int, str]]:
    """(lost, offset, source) of everything that speaks of committed offsets."""
    found = []
    for row in rows:
        if row["kind"] == "replica" and row["log_end_offset"] is not None and row["high_watermark"]:
            found.append((row["broker_id"], row["high_watermark"], "high_watermark"))
        elif row["kind"] == "proof":
            found.append((row["broker_id"] if row["held"] else None, row["offset"], row["source"]))
            found.append((None, row["offset"], row["source"]))
    if seen:
        found.append((None, seen["high_watermark"], "healthy_snapshot"))
    stated = []
    for holder, offset, source in found:
        has = offset if holder == winner else partition.end(winner)
        if holder not in (None, winner) and (common := partition.pair(winner, holder)["common_offset"]) is not None:
            has = common
        stated.append((max(0, offset - has), offset, source))
    return stated


def _held_elsewhere(partition: Partition, winner: int) -> list[tuple[int, int]]:
    """(lost at most, kind of proof) for each log that has every committed record."""
    lacking: dict[int, int | None] = {winner: 0}
    for other in partition.survivors:
        if other != winner:
            common = partition.pair(winner, other)["common_offset"]
            lacking[other] = None if common is None else partition.end(other) - common
    complete = (partition.complete(), partition.state["eligible_leader_replicas"], partition.state["isr"])
    found = [(lost, kind) for kind, logs in enumerate(complete) for other in logs if (lost := lacking.get(other)) is not None]
    if len(lacking) == len(partition.replicas) and None not in lacking.values():
        found.append((max(lost for lost in lacking.values() if lost is not None), 3))
    return found


def _contradicted(partition: Partition) -> bool:
    branches = [broker for broker in partition.survivors if partition.resolved(broker)]
    return bool(branches) and not any(partition.holds_all_points(broker) for broker in branches)


def fewest(choices: Sequence[Sequence[int]]) -> int:
    """The smallest possible number of partitions on the broker that leads most, found by augmenting paths."""
    limit = -(-len(choices) // len({broker for choice in choices for broker in choice}))
    while not _fits(choices, limit):
        limit += 1
    return limit


def _fits(choices: Sequence[Sequence[int]], limit: int) -> bool:
    led: dict[int, list[int]] = {broker: [] for choice in choices for broker in choice}

    def seat(index: int, tried: set[int]) -> bool:
        for broker in choices[index]:
            if broker in tried:
                continue
            tried.add(broker)
            if len(led[broker]) < limit:
                led[broker].append(index)
                return True
            for seated in led[broker]:
                if seat(seated, tried):
                    led[broker].remove(seated)
                    led[broker].append(index)
                    return True
        return False

    return all(seat(index, set()) for index in range(len(choices)))
