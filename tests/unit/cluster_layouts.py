# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layouts of clusters that have lost brokers, and in plain Python what any plan for them has to fulfil, whatever made it."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format, layout_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.redundancy import reassignment_files

Row = dict[str, Any]
Key = tuple[str, int]
RUN = "run-1"
COLLECTED = "2026-11-21T12:00:00Z"


def broker(broker_id: int, state: str = "unfenced", rack: str | None = None, usable: int | None = None, total: int | None = None) -> Row:
    """One row of kind broker."""
    return {
        "kind": "broker",
        "broker_id": broker_id,
        "broker_state": state,
        "rack": rack,
        "usable_bytes": usable,
        "total_bytes": total,
    }


def partition(
    topic: str, number: int, replicas: Sequence[int], live: Iterable[int] | None = None, size: int | None = 100, **given: Any
) -> Row:
    """One row of kind partition: `live` replicas (default all) are in sync, the first of them leads."""
    there = list(replicas if live is None else live)
    return {
        "kind": "partition",
        "topic": topic,
        "partition": number,
        "topic_id": f"id-of-{topic}",
        "leader": there[0] if there else -1,
        "replicas": list(replicas),
        "isr": there,
        "reassigning": False,
        "min_insync_replicas": 1,
        "sizes": [] if size is None else [[one, size] for one in there],
        **given,
    }


def land(workdir: Path, cluster: str, rows: Iterable[Mapping[str, Any]], run_id: str = RUN, **header: Any) -> Path:
    """Write the layout file of a cluster."""
    path = workdir / layout_file.FOLDER / run_id / f"{cluster}{layout_file.SUFFIX}"
    path.parent.mkdir(parents=True, exist_ok=True)
    landing_format.write(path, {**layout_file.header(cluster, f"id-of-{cluster}", run_id, COLLECTED), **header}, rows)
    return path


def random_layout(rng: random.Random) -> list[Row]:
    """A cluster of 3 to 10 brokers, some of which are lost; racks, disks, sizes and replication factors of all sorts."""
    count = rng.randint(3, 10)
    racks: list[str | None] = rng.choice([[None], ["a", "b"], ["a", "b", "c"], ["a", "b", "c", None]])
    states = dict.fromkeys(range(1, count + 1), "unfenced")
    for one in rng.sample(sorted(states), rng.randint(1, max(1, count // 3))):
        states[one] = rng.choice(["fenced", "fenced", "fenced", "coming_back"])
    disks = rng.choice(["unknown", "equal", "mixed", "tight"])
    rows = []
    for one, state in states.items():
        total = {"unknown": None, "equal": 10**6, "mixed": rng.choice([10**6, 2 * 10**6]), "tight": 20_000}[disks]
        usable = None if total is None else rng.randint(total // 10, total) if disks == "tight" else total
        known = state == "unfenced"
        rows.append(broker(one, state, rng.choice(racks), usable if known else None, total if known else None))
    for number in range(rng.randint(1, 60)):
        replicas = rng.sample(sorted(states), min(count, rng.choice([1, 2, 3, 3, 3, 4])))
        live = [one for one in replicas if states[one] == "unfenced"]
        isr = [one for one in live if one == live[0] or rng.random() < 0.9]
        size = rng.choice([0, 100, 100, rng.randint(0, 5000)])
        given = {"reassigning": rng.random() < 0.02, "min_insync_replicas": rng.choice([1, 2, None])}
        rows.append(partition(rng.choice("ab"), number, replicas, live, size, isr=isr, **given))
    return rows


class Oracle:
    """What is known of a layout, worked out plainly."""

    def __init__(self, rows: Sequence[Row], lost: Sequence[int] | None = None, replication_factor: int | None = None) -> None:
        self.brokers = {row["broker_id"]: row for row in rows if row["kind"] == "broker"}
        self.partitions: dict[Key, Row] = {(row["topic"], row["partition"]): row for row in rows if row["kind"] == "partition"}
        self.live = {one for one, row in self.brokers.items() if row["broker_state"] == "unfenced"}
        fenced = {one for one, row in self.brokers.items() if row["broker_state"] == "fenced"}
        self.lost = fenced if lost is None else set(lost)
        self.replication_factor = replication_factor
        self.rack_aware = all(self.brokers[one]["rack"] is not None for one in self.live)
        self.unlimited = all(self.brokers[one]["usable_bytes"] is None for one in self.live)

    def wanted(self, row: Row) -> int:
        return self.replication_factor or len(row["replicas"])

    def survivors(self, row: Row) -> list[int]:
        return [one for one in row["replicas"] if one not in self.lost]

    def size(self, row: Row) -> int:
        sizes = dict(row["sizes"])
        return sizes.get(row["leader"], max(sizes.values(), default=0))

    def verdict(self, row: Row) -> str | None:
        """`moves`, the reason why it is held, None where there is nothing to do."""
        wanted, survivors = self.wanted(row), self.survivors(row)
        if len(survivors) == len(row["replicas"]) == wanted:
            return None
        if row["reassigning"]:
            return "reassignment_in_progress"
        if not set(row["replicas"]) <= self.brokers.keys():
            return "incomplete"
        if row["leader"] not in self.live:
            return "no_leader"
        if len(self.live | set(survivors)) < wanted:
            return "too_few_brokers"
        if wanted < len(row["replicas"]) and wanted < (row["min_insync_replicas"] or 0):
            return "below_min_isr"
        return "moves"

    def rack(self, one: int) -> str:
        return (self.brokers[one]["rack"] or "") if self.rack_aware else ""

    def check(self, plan: Mapping[str, Any]) -> None:
        """Assert all that holds for a plan, as in its file."""
        planned: dict[Key, Row] = {(row["topic"], row["partition"]): row for row in plan["partitions"]}
        held = {(row["topic"], row["partition"]): row["reason_code"] for row in plan["held"]}
        assert len(planned) + len(held) == len(plan["partitions"]) + len(plan["held"])
        for key, row in self.partitions.items():
            verdict = self.verdict(row)
            if verdict == "moves" and held.get(key) == "no_room":
                assert not self.unlimited
                continue
            assert held.get(key) == (None if verdict == "moves" else verdict), key
            assert (key in planned) == (verdict == "moves"), key
            if verdict == "moves":
                self._check_move(row, planned[key])
        assert planned.keys() <= self.partitions.keys()
        self._check_brokers(plan)
        self._check_evenness(plan)

    def _check_move(self, row: Row, move: Row) -> None:
        survivors, wanted, new = self.survivors(row), self.wanted(row), move["replicas"]
        kept, added = [one for one in new if one in row["replicas"]], [one for one in new if one not in row["replicas"]]
        assert len(new) == len(set(new)) == wanted, "as many replicas as it is to have, on as many brokers"
        assert len(kept) == min(wanted, len(survivors)) and set(kept) <= set(survivors), "nothing but lost replicas is replaced"
        assert set(added) <= self.live, "only live brokers get a replica"
        assert row["leader"] in new, "there is a replica to copy from"
        assert move["replicas_before"] == row["replicas"] and move["topic_id"] == row["topic_id"]
        assert set(move["adding_replicas"]) == set(added) and set(move["removing_replicas"]) == set(row["replicas"]) - set(new)
        assert move["bytes"] == (len(added) * self.size(row) if row["sizes"] else None), "no byte more than has to be copied is"
        assert row["replicas"][0] not in new or new[0] == row["replicas"][0], "who came first does"
        in_order = [one for one in row["replicas"] if one in new[1:]]
        assert [one for one in new[1:] if one in in_order] == in_order, "the others stand as they stood"
        kept_racks = {self.rack(one) for one in kept}
        if self.unlimited:
            free = {self.rack(one) for one in self.live - set(kept)} - kept_racks
            assert len({self.rack(one) for one in new}) == len(kept_racks) + min(len(added), len(free)), (
                "no rack has two where it can be helped"
            )

    def _check_brokers(self, plan: Mapping[str, Any]) -> None:
        """What the file says of brokers is what comes of its partitions, and no disk is filled beyond its limit."""
        size, replicas, leaders, adding = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
        moves = {(row["topic"], row["partition"]): row for row in plan["partitions"]}
        for key, row in self.partitions.items():
            after = moves[key]["replicas"] if key in moves else self.survivors(row)
            first = moves[key]["replicas"][0] if key in moves else row["replicas"][0]
            leaders[first] += first in after
            for one in after:
                replicas[one] += 1
                size[one] += self.size(row)
                adding[one] += self.size(row) if one not in row["replicas"] else 0
        assert {row["broker_id"] for row in plan["brokers"]} == self.brokers.keys()
        for row in plan["brokers"]:
            one = row["broker_id"]
            assert row["lost"] == (one in self.lost)
            if one not in self.live:
                assert row["bytes"] is row["replicas"] is row["leaders"] is row["adding_bytes"] is None
                continue
            loads = (row["bytes"], row["replicas"], row["leaders"], row["adding_bytes"])
            assert loads == (size[one], replicas[one], leaders[one], adding[one])
            usable, total = self.brokers[one]["usable_bytes"], self.brokers[one]["total_bytes"]
            assert usable is None or not adding[one] or adding[one] <= usable - total // 100 * 10

    def _check_evenness(self, plan: Mapping[str, Any]) -> None:
        """No broker has a much larger load than another one that could have taken part of it."""
        surplus = [self.surplus_of_leaders(plan), self.surplus_of_fill(plan)]
        assert surplus[0] <= 2, f"first replicas are uneven by {surplus[0]}"
        assert surplus[1] <= 2, f"disks are uneven by {surplus[1]:.2f} of the largest replica"

    def surplus_of_leaders(self, plan: Mapping[str, Any]) -> int:
        """By how many first places a broker exceeds another that could have had one of them; 1 is as even as can be."""
        leaders = {row["broker_id"]: row["leaders"] for row in plan["brokers"]}
        worst = 0
        for row in plan["partitions"]:
            if row["replicas"][0] == row["replicas_before"][0]:
                continue
            worst = max(worst, leaders[row["replicas"][0]] - min(leaders[one] for one in row["replicas"] if one in self.live))
        return worst

    def surplus_of_fill(self, plan: Mapping[str, Any]) -> float:
        """By how much a broker's load exceeds that of another that could have had what was added to it, in loads of the largest added
        replica. The load is that of the disk, whose size counts, with what a replica counts for being there; see `placement`."""
        if not self.unlimited:
            return 0
        rows = {row["broker_id"]: row for row in plan["brokers"] if row["bytes"] is not None}
        sizes = [(self.size(row), len(set(self.survivors(row)))) for row in self.partitions.values()]
        mean = max(1, sum(size * number for size, number in sizes) // max(1, sum(number for _, number in sizes)))
        load = {one: row["bytes"] + mean * row["replicas"] for one, row in rows.items()}
        cost = {
            (row["topic"], row["partition"]): self.size(self.partitions[row["topic"], row["partition"]]) + mean
            for row in plan["partitions"]
        }
        worst = 0.0
        for row in plan["partitions"]:
            for one in row["adding_replicas"]:
                mates = [self.rack(other) for other in row["replicas"] if other != one]
                could = [
                    other for other in self.live - set(row["replicas"]) if mates.count(self.rack(other)) <= mates.count(self.rack(one))
                ]
                worst = max([worst, *((load[one] - load[other]) / max(cost.values()) for other in could)])
        return worst


def shuffled(rows: Sequence[Row], rng: random.Random) -> Iterator[Row]:
    """The same layout with its lines in another order."""
    yield from rng.sample(rows, len(rows))


def plan_all(spark: SparkSession, workdir: Path, clusters: Mapping[str, Sequence[Row]], **options: Any) -> dict[str, dict[str, Any]]:
    """Land and plan several clusters in one go: cluster → content of its reassignment file. Nothing may be quarantined."""
    for cluster, rows in clusters.items():
        land(workdir, cluster, rows)
    wanted = reassignment_files.Options(**options)
    wanted.check()
    result = reassignment_files.write(spark, reassignment_files.find_layout_files(workdir, RUN, None), workdir, wanted)
    assert result["quarantine"] == []
    return {plan["cluster"]: json.loads(Path(plan["path"]).read_text()) for plan in result["plans"]}


def lists(plan: Mapping[str, Any]) -> dict[Key, list[int]]:
    """The new replicas of each planned partition."""
    return {(row["topic"], row["partition"]): row["replicas"] for row in plan["partitions"]}
