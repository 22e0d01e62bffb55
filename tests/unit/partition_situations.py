# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of landing files for the tests of the plan, and the way from rows to a plan."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from bench import plain

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format, plan_file

Rows = list[dict[str, Any]]
RUN = "run-1"
# When landing files were collected, in two notations.
COLLECTED, COLLECTED_AT = "2026-11-21T04:00:00Z", 1_795_233_600_000
FENCED, UNFENCED, COMING_BACK = "fenced", "unfenced", "coming_back"


@dataclass(frozen=True)
class Log:
    """A log that was read: the record at offset i was written in epoch `epochs[i]` on branch `branches[i]`. `fenced`: its broker is.

    `start`: what is before it was deleted, as retention does.
    """

    epochs: tuple[int, ...]
    branches: tuple[int, ...]
    high_watermark: int | None = 0
    fenced: bool = False
    start: int = 0

    @classmethod
    def of(cls, *runs: tuple[int, int], branch: int = 0, high_watermark: int | None = 0, fenced: bool = False, start: int = 0) -> Log:
        """Build from (number of records, epoch) runs; `branch` distinguishes logs with the same epochs."""
        epochs = tuple(epoch for count, epoch in runs for _ in range(count))
        return cls(epochs, (branch,) * len(epochs), high_watermark, fenced, start)

    @property
    def end(self) -> int:
        return len(self.epochs)

    def common(self, other: Log) -> int:
        """The first offset at which the logs differ."""
        ours, theirs = list(zip(self.epochs, self.branches, strict=True)), list(zip(other.epochs, other.branches, strict=True))
        return next((place for place, (one, two) in enumerate(zip(ours, theirs, strict=False)) if one != two), min(self.end, other.end))


@dataclass
class Situation:
    """One partition. `brokers`: replica → its log, or its broker's state (no log), or the error of one that did not answer."""

    topic: str
    brokers: dict[int, Log | str]
    partition: int = 0
    state: dict[str, Any] = field(default_factory=dict)
    unknown: set[tuple[int, int]] = field(default_factory=set)
    proofs: list[tuple[int, int, bool | None]] = field(default_factory=list)
    history: dict[str, Any] | None = None
    healthy: dict[str, Any] | None = None
    corrupt: set[tuple[int, int]] = field(default_factory=set)

    def rows(self) -> Rows:
        """The partition row, a replica row each, a pair row for every two that answered, proof rows, a history row and a healthy row."""
        place = {"topic": self.topic, "partition": self.partition}
        lost = [broker for broker, log in self.brokers.items() if log in (FENCED, COMING_BACK)]
        rows: Rows = [
            {
                "kind": "partition", **place, "topic_id": f"id-of-{self.topic}", "leader": -1, "leader_epoch": 7, "replicas": list(self.brokers),
                "isr": [], "eligible_leader_replicas": [], "last_known_elr": [], "offline_replicas": lost, "reassigning": False, "named": False,
                "cleanup_policy": "delete",
                **self.state,
            }
        ]  # fmt: skip
        rows += [{"kind": "replica", **place, "broker_id": broker, **_replica(log)} for broker, log in self.brokers.items()]
        answered = sorted(broker for broker, log in self.brokers.items() if isinstance(log, Log))
        rows += [{"kind": "pair", **place, **self._pair(one, other)} for one, other in combinations(answered, 2)]
        rows += [
            {"kind": "proof", **place, "source": "consumer_group", "name": "readers", "offset": offset, "leader_epoch": 0, "broker_id": broker,
             "held": held}
            for offset, broker, held in self.proofs
        ]  # fmt: skip
        rows += [{"kind": "history", **place, **self.history}] if self.history else []
        rows += [{"kind": "healthy", **place, "topic_id": f"id-of-{self.topic}", **self.healthy}] if self.healthy else []
        return rows

    def _pair(self, one: int, other: int) -> dict[str, Any]:
        a, b = self.brokers[one], self.brokers[other]
        assert isinstance(a, Log) and isinstance(b, Log)
        common = a.common(b)
        pair = {"broker_a": one, "broker_b": other, "shorter": None, "common_offset": common, "reason": None}
        if (one, other) in self.unknown:
            return {**pair, "relation": "unknown", "common_offset": None, "reason": "compacted"}
        if max(a.start, b.start) >= min(a.end, b.end) > 0:
            return {
                **pair,
                "relation": "unknown",
                "common_offset": None,
                "reason": "the beginning of one was deleted beyond the end of the other",
            }
        if (one, other) in self.corrupt:
            reason = f"brokers {one} and {other} have different bytes at offset 99 from one leader epoch, 0"
            return {**pair, "relation": "corrupt", "common_offset": None, "reason": reason}
        if common < min(a.end, b.end):
            return {**pair, "relation": "forked"}
        if a.end == b.end:
            return {**pair, "relation": "same"}
        return {**pair, "relation": "prefix", "shorter": one if a.end < b.end else other}


def _replica(log: Log | str) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(
        ("error", "log_start_offset", "log_end_offset", "high_watermark", "partition_leader_epoch", "last_written_epoch")
    )
    if isinstance(log, Log):
        written = log.epochs[-1] if log.epochs else -1
        return {
            **row, "broker_state": FENCED if log.fenced else UNFENCED, "log_start_offset": log.start, "log_end_offset": log.end,
            "high_watermark": log.high_watermark,
            "partition_leader_epoch": 7, "last_written_epoch": None if written == UNREADABLE else written,
        }  # fmt: skip
    if log in (FENCED, COMING_BACK):
        return {**row, "broker_state": log}
    return {**row, "broker_state": UNFENCED, "error": log}


UNREADABLE = -2


def history(*steps: Mapping[str, Any], min_isr: int | None = 2, version: int | None = 21, doubt: str | None = None) -> dict[str, Any]:
    """A history row: what changes at each step (leader, isr, elr, unclean, reassigned), one second after the other.

    Its last leader epoch is that of every Situation.
    """
    changes: list[dict[str, Any]] = []
    for place, step in enumerate(steps):
        before = changes[-1] if changes else {"leader": -1, "isr": [], "eligible_leader_replicas": []}
        changes.append(
            {
                "offset": 100 + place,
                "timestamp": 1_795_000_000_000 + 1000 * place if place else None,
                "leader_epoch": 7 - (len(steps) - 1 - place),
                "leader": step.get("leader", before["leader"]),
                "isr": step.get("isr", before["isr"]),
                "eligible_leader_replicas": step.get("elr", before["eligible_leader_replicas"]),
                "unclean": step.get("unclean", False),
                "reassigned": step.get("reassigned", False),
            }
        )
    led = [place for place, found in enumerate(changes) if found["leader"] >= 0]
    known = bool(led) and led[-1] + 1 < len(changes)
    return {
        "doubt": doubt,
        "offline_since": changes[led[-1] + 1]["timestamp"] if known else None,
        "last_isr": changes[led[-1]]["isr"] if known else None,
        "metadata_version": version,
        "min_insync_replicas": min_isr,
        "changes": changes,
    }


def healthy(seconds_before: float, log_end_offset: int, high_watermark: int, append_rate: float | None, **given: Any) -> dict[str, Any]:
    """A healthy row, so long before the landing file was collected."""
    return {
        "observed_at": COLLECTED_AT - int(1000 * seconds_before), "leader_epoch": 6, "isr": [1], "log_end_offset": log_end_offset,
        "high_watermark": high_watermark, "append_rate": append_rate, **given,
    }  # fmt: skip


def broker_rows(count: int = 9, fenced: Mapping[int, float | None] | None = None) -> Rows:
    """Brokers 1 to `count`; `fenced`: broker → seconds of silence."""
    lost = fenced or {}
    return [
        {
            "kind": "broker",
            "broker_id": broker,
            "broker_state": FENCED if broker in lost else UNFENCED,
            "silent_seconds": lost.get(broker),
            "rack": None,
        }
        for broker in range(1, count + 1)
    ]


def documents_of(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of partitions as documents, one for each partition."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for row in rows:
        fields = {name: value for name, value in row.items() if name not in ("kind", "topic", "partition")}
        document = found.setdefault(
            (row["topic"], row["partition"]), {"topic": row["topic"], "partition": row["partition"], "logs": [], "pairs": [], "proofs": []}
        )
        if row["kind"] == "partition":
            document |= fields
        elif row["kind"] in ("history", "healthy"):
            document[row["kind"]] = fields
        else:
            document[{"replica": "logs", "pair": "pairs", "proof": "proofs"}[row["kind"]]].append(fields)
    return list(found.values())


def land(workdir: Path, cluster: str, rows: Iterable[Mapping[str, Any]], run_id: str = RUN, **header: Any) -> Path:
    """Write the landing file of a cluster."""
    all_rows = list(rows)
    brokers = [{name: value for name, value in row.items() if name != "kind"} for row in all_rows if row["kind"] == "broker"]
    path = workdir / "landing" / run_id / f"{cluster}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = {"cluster": cluster, "cluster_id": f"id-of-{cluster}", "run_id": run_id, "collected_at": COLLECTED}
    documents = documents_of(row for row in all_rows if row["kind"] != "broker")
    landing_format.write(
        path, {**fields, "backend": "compat", "options": {}, "unreachable_brokers": [], "brokers": brokers, **header}, documents
    )
    return path


def plan_all(
    workdir: Path,
    clusters: Mapping[str, Sequence[Mapping[str, Any]]],
    strategy: str,
    ranking: str = "last_written_epoch",
    **topic_strategies: str,
) -> dict[str, dict[str, Any]]:
    """Land and plan several clusters, as Spark does it, in one plain loop: cluster → content of its plan file."""
    for cluster, rows in clusters.items():
        land(workdir, cluster, rows)
    plain.plan(workdir, RUN, strategy, ranking, "plans", topic_strategies)
    return {cluster: plan_file.load(workdir / "plans" / RUN / f"{cluster}.json") for cluster in clusters}


def by_topic(plan: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The entries of a plan by topic, each with its `section`."""
    return {row["topic"]: {**row, "section": section} for section in ("partitions", "held", "online") for row in plan[section]}


def random_situations(rng: random.Random, count: int) -> list[Situation]:
    """Partitions whose survivors come from a tree of histories: leaders of growing epochs, each continuing some earlier log somewhere."""
    return [_random_situation(rng, number) for number in range(count)]


def _random_situation(rng: random.Random, number: int) -> Situation:
    logs = [Log((), ())]
    for epoch in range(rng.randint(1, 4)):
        base = rng.choice(logs)
        kept, more = rng.randint(0, base.end), rng.randint(1, 3)
        logs.append(Log(base.epochs[:kept] + (epoch,) * more, base.branches[:kept] + (epoch,) * more))
    brokers: dict[int, Log | str] = {}
    for broker in rng.sample(range(1, 7), rng.randint(1, 4)):
        log = rng.choice(logs)
        kept = log.end if rng.random() < 0.7 else rng.randint(0, log.end)
        survivor = Log(log.epochs[:kept], log.branches[:kept], rng.choice((0, 0, rng.randint(0, kept), None)), rng.random() < 0.1)
        brokers[broker] = rng.choices((survivor, FENCED, COMING_BACK, "NO_ANSWER"), (12, 4, 1, 1))[0]
    answered = sorted(broker for broker, log in brokers.items() if isinstance(log, Log))
    if answered and rng.random() < 0.1:
        first = brokers[answered[0]]
        assert isinstance(first, Log)
        if first.end:
            brokers[answered[0]] = Log((*first.epochs[:-1], UNREADABLE), first.branches, first.high_watermark, first.fenced)
    proofs = []
    for broker in answered:
        held = brokers[broker]
        if isinstance(held, Log) and held.end and rng.random() < 0.15:
            proofs.append((rng.randint(1, held.end), broker, rng.choice((True, True, False, None))))
    state = {
        "named": rng.random() < 0.3,
        "reassigning": rng.random() < 0.1,
        "isr": rng.sample(list(brokers), rng.randint(0, 1)) if rng.random() < 0.3 else [],
        "leader": rng.choice(list(brokers)) if rng.random() < 0.05 else -1,
    }
    unknown = {pair for pair in combinations(answered, 2) if rng.random() < 0.05}
    past = _random_history(rng, list(brokers)) if rng.random() < 0.8 else None
    return Situation(rng.choice(("orders", "orders", "payments", "__transaction_state")), brokers, number, state, unknown, proofs, past)


def _random_history(rng: random.Random, brokers: list[int]) -> dict[str, Any]:
    """Mostly an ISR that shrinks and sometimes grows, now and then with everything that makes a history useless."""
    isr = brokers if rng.random() < 0.9 else rng.sample(brokers, rng.randint(0, len(brokers)))
    steps: list[dict[str, Any]] = [{"leader": rng.choice(brokers), "isr": isr}]
    for _ in range(rng.randint(0, 5)):
        shrunk = [broker for broker in isr if rng.random() < 0.7]
        isr = shrunk if rng.random() < 0.85 else sorted({*shrunk, rng.choice(brokers)})
        leader = -1 if rng.random() < 0.05 else rng.choice(isr or brokers)
        steps.append({"leader": leader, "isr": isr, "unclean": rng.random() < 0.04, "reassigned": rng.random() < 0.04})
    steps += [{"leader": -1, **({"isr": []} if rng.random() < 0.5 else {})}] if rng.random() < 0.95 else []
    return history(
        *steps,
        min_isr=rng.choice((1, 2, 2, 2, 3, 3, None)),
        version=rng.choice((21, 21, 21, 21, 21, 15, 14, None)),
        doubt=rng.choice((None,) * 12 + ("cut off",)),
    )
