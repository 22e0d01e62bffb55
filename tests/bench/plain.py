"""The same rules in one plain Python loop, to see from which size on Spark pays: rows read and decided, spread, words and loss left out.

The rules are those of the tests' oracle, which random partitions hold against Spark's.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unit.oracle import verdict

PARTITION_KINDS = ("partition", "replica", "pair", "proof", "history")


def plan(workdir: Path, run_id: str) -> dict[str, int]:
    """Decide every partition of a run's landing files, cluster by cluster; return how many are elected, held and online."""
    counted: Counter[str] = Counter()
    folder = workdir / "plain" / run_id
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted((workdir / "landing" / run_id).glob("*.jsonl")):
        with (folder / f"{file.stem}.jsonl").open("w") as plan_file:
            for rows in partitions(file):
                # Only partitions without a leader have replica rows.
                decided = vars(verdict(rows, "balanced", "last_written_epoch")) if rows[0]["leader"] < 0 else {"section": "online"}
                counted[decided["section"]] += 1
                plan_file.write(json.dumps({"topic": rows[0]["topic"], "partition": rows[0]["partition"], **decided}) + "\n")
    return {"elect": counted["partitions"], "held": counted["held"], "online": counted["online"]}


def partitions(file: Path) -> Iterator[list[dict[str, Any]]]:
    """The rows of each partition of one landing file; one cluster is held in memory."""
    grouped: dict[tuple[str, int], list[dict[str, Any]]] = {}
    with file.open() as lines:
        for line in lines:
            row = json.loads(line)
            if row["kind"] in PARTITION_KINDS:
                grouped.setdefault((row["topic"], row["partition"]), []).append(row)
    yield from grouped.values()
