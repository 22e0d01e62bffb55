"""What the demonstration shows: tables made of the files that the collection writes."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from demo.world import Site
from rig import Kept

CLUSTERS = ("east", "west")


def offline(console: Console, sites: Iterable[Site]) -> None:
    """What has no leader."""
    table = Table("cluster", "scenario", "partitions", "replicas", "ISR", "ELR", title="Partitions without a leader (copies not counted)")
    total = 0
    for site in sites:
        for case in site.damage.cases:
            states = [state for state in site.cluster.describe(case.topics[0]) if state.leader < 0]
            total += len(states)
            first = states[0]
            table.add_row(
                site.name,
                case.scenario,
                str(len(states)),
                str(list(first.replicas)),
                str(list(first.isr)),
                str(list(first.eligible_leader_replicas)),
            )
    console.print(table)
    console.print(f"{total} partitions have no leader. The columns on the right show the first partition of each row.\n")


def survivors(console: Console, workdir: Path, run_id: str) -> None:
    """What each survivor of the first partition of each topic holds."""
    table = Table(
        "cluster", "partition", "broker", "log end offset", "last-written epoch", "high watermark", "note", title="What the survivors hold"
    )
    for cluster in CLUSTERS:
        # Between the header and the seal.
        lines = (workdir / "landing" / run_id / f"{cluster}.jsonl").read_text().splitlines()[1:-1]
        firsts = [document for document in map(json.loads, lines) if document["partition"] == 0]
        for topic, log in ((document["topic"], log) for document in firsts for log in document["logs"]):
            if log["log_end_offset"] is not None or log["error"]:
                values = [log["log_end_offset"], log["last_written_epoch"], log["high_watermark"], log["error"]]
                table.add_row(cluster, f"{topic}-0", str(log["broker_id"]), *("" if value is None else str(value) for value in values))
    console.print(table)


def choices(console: Console, workdir: Path, run_id: str) -> None:
    """What was chosen and why, what was held and why: one line per topic and reason."""
    table = Table("cluster", "topic", "partitions", "decision", "why (first partition)", title="What was chosen, what was held")
    for cluster in CLUSTERS:
        plan = json.loads((workdir / "plans" / run_id / f"{cluster}.json").read_text())
        for decision, rows in (("elect", plan["partitions"]), ("hold", plan["held"])):
            groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
            for row in rows:
                groups.setdefault((row["topic"], row.get("reason_code", row["evidence"])), []).append(row)
            for (topic, word), members in groups.items():
                table.add_row(cluster, topic, str(len(members)), f"{decision}: {word}", members[0]["explanation"])
    console.print(table)


def outcomes(console: Console, workdir: Path, run_id: str) -> None:
    """Outcomes by reason code."""
    table = Table("cluster", "outcome", "reason", "partitions", title=f"Outcomes of run {run_id}")
    for path in sorted((workdir / "results" / run_id).glob("*.json")):
        result = json.loads(path.read_text())
        counts = Counter((row["outcome"], row["reason_code"] or row["evidence"] or "") for row in result["partitions"])
        for (outcome, reason), count in sorted(counts.items()):
            table.add_row(path.stem, outcome, reason, str(count))
    console.print(table)


def comparison(console: Console, sites: Iterable[Site], stock: dict[str, Kept]) -> None:
    """Acknowledged records that are still there: ours against Kafka's own tool, on identical copies of the damage."""
    table = Table(
        "cluster", "topics", "acknowledged with acks=all", "kept by this collection", "kept by kafka-leader-election.sh unclean",
        title="Acknowledged records that can be read again (identical copies of the damage, read back and counted)",
    )  # fmt: skip
    for site in sites:
        for topic, copy in zip(site.recovered(), site.copies(), strict=True):
            ours, theirs = site.kept([topic]), stock[f"{site.name}/{copy}"]
            table.add_row(site.name, topic, str(ours.acknowledged), str(ours.kept), str(theirs.kept))
    console.print(table)
    console.print("What neither kept was acknowledged by the lost broker alone: no survivor held it.")


def afterwards(console: Console, sites: Iterable[Site]) -> None:
    """Leaders and replica orders after the recovery."""
    table = Table("cluster", "topic", "with leader", "without", "leaders per broker", "replica order", title="State afterwards")
    for site in sites:
        for case in site.damage.cases:
            states = site.cluster.describe(case.topics[0])
            leaders = Counter(state.leader for state in states if state.leader >= 0)
            as_before = all(tuple(state.replicas) == tuple(plot.replicas) for state, plot in zip(states, case.plots, strict=True))
            spread = ", ".join(f"broker {broker}: {count}" for broker, count in sorted(leaders.items()))
            table.add_row(
                site.name,
                case.topics[0],
                str(leaders.total()),
                str(len(states) - leaders.total()),
                spread,
                "as before" if as_before else "CHANGED",
            )
    console.print(table)
