# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Landing files whose rows were changed before they were sealed, many at once through the real pipeline.

Whatever a row holds: the plan is made, or the file quarantined; a partition with a row that breaks the schema is elected by no
strategy; and nothing that is wrong with one partition or file reaches another.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hostile import DEEP, damage, encoded, mutate
from pyspark.sql import SparkSession
from situations import FENCED, RUN, Log, Situation, broker_rows, by_topic

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import planfile, snapshot
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline import bronze, plans

FILES = 150
BROKERS = broker_rows(3, {1: 30.0})
SOUND = Situation("sound", {1: FENCED, 2: Log.of((5, 0)), 3: Log.of((4, 0))}).rows()
TARGET = Situation("target", {1: FENCED, 2: Log.of((5, 0), (3, 1)), 3: Log.of((5, 0))}, proofs=[(5, 2, True), (5, 3, True)]).rows()
RANGES = {"int": 2**31, "bigint": 2**63}


def changed(rng: Random) -> tuple[list[bytes], bytes]:
    """The lines of a file, one of them changed, in one way or in several; and that line."""
    rows = [*BROKERS, *TARGET]
    place = rng.randrange(len(rows))
    line = damage(rng, encoded(mutate(rng, rows[place], most=2))).replace(b"\n", b" ")
    return [*(encoded(row) for row in [*rows[:place], *SOUND]), line, *(encoded(row) for row in rows[place + 1 :])], line


def land(workdir: Path, cluster: str, lines: list[bytes]) -> None:
    header = {"kind": "header", "schema": snapshot.SCHEMA, "cluster": cluster, "cluster_id": f"id-of-{cluster}", "run_id": RUN,
              "collected_at": "2026-11-21T04:00:00Z", "backend": "compat"}  # fmt: skip
    content = b"".join(line + b"\n" for line in [encoded(header), *lines])
    seal = {"kind": "seal", "rows": len(lines) + 1, "sha256": hashlib.sha256(content).hexdigest()}
    path = workdir / "landing" / RUN / f"{cluster}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content + encoded(seal) + b"\n")


def breaks_the_schema(line: bytes) -> bool:
    """Whether the row is no object, or a field that decides something is of another type than the schema's.

    A row that names another partition is one of that partition: the seal alone tells that it was not so from the beginning.
    """
    try:
        row, _ = json.JSONDecoder().raw_decode(line.decode())
    except (ValueError, RecursionError):
        return True
    if not isinstance(row, dict):
        return True
    if str(row.get("topic", "target")) != "target" and row.get("topic") is not None:
        return False
    fields = dict(field.split(maxsplit=1) for field in bronze.SCHEMA.split(", "))
    return any(not _fits(row[name], kind) for name, kind in fields.items() if row.get(name) is not None)


def _fits(value: Any, kind: str) -> bool:
    if kind.startswith("array<"):
        return isinstance(value, list) and all(element is None or _fits(element, kind[6:-1]) for element in value)
    if kind == "string":
        return True  # anything has a text
    if kind == "boolean" or isinstance(value, bool):
        return kind == "boolean" and isinstance(value, bool)
    return isinstance(value, (int, float) if kind == "double" else int) and abs(value) < RANGES.get(kind, 2**1024)


@pytest.mark.slow
def test_whatever_the_rows_hold(spark: SparkSession, tmp_path: Path) -> None:
    workdir, rng = tmp_path, Random(4711)
    files = [changed(rng) for _ in range(FILES)]
    for number, (lines, _) in enumerate(files):
        land(workdir, f"changed-{number}", lines)
    sound = [f"sound-{number}" for number in range(3)]
    for name in sound:
        land(workdir, name, [encoded(row) for row in [*BROKERS, *SOUND, *TARGET]])

    result = plans.write_plans(spark, plans.landing(workdir, RUN, None), workdir, "aggressive", "last_written_epoch")

    reasons = {Path(row["path"]).stem: row["reason"] for row in result["quarantine"]}
    made = {plan["cluster"]: planfile.load(plan["path"]) for plan in result["plans"]}
    assert {*reasons} | {*made} == {*sound, *(f"changed-{number}" for number in range(FILES))}
    assert not {*reasons} & {*made}
    assert all(reason.isprintable() for reason in reasons.values())
    for name in sound:
        assert by_topic(made[name])["target"]["designatedLeader"] == 2
    for name, plan in made.items():
        assert by_topic(plan)["sound"]["designatedLeader"] == 2, name
    broken = [number for number, (_, line) in enumerate(files) if breaks_the_schema(line)]
    for number in broken:
        made_of_it = made.get(f"changed-{number}")
        if made_of_it is not None:
            assert all(row["topic"] != "target" for row in made_of_it["partitions"]), files[number][1]
    assert len(broken) > FILES / 5 and len(reasons) > FILES / 5 and len(made) > FILES / 5, "some of each kind"


@pytest.mark.slow
def test_what_no_reader_of_json_takes_is_a_damaged_row(spark: SparkSession, tmp_path: Path) -> None:
    """Longer, deeper and larger than a parser allows: not a failure of Spark."""
    place = '"topic":"target","partition":0'
    odd = {
        "deep": encoded({"kind": "replica", "topic": "target", "partition": 0, "x": DEEP}),
        "long-number": b'{"kind":"replica",%s,"broker_id":2,"log_end_offset":%s}' % (place.encode(), b"9" * 5000),
        "long-text": b'{"kind":"replica",%s,"broker_id":2,"error":"%s"}' % (place.encode(), b"x" * 1_000_000),
        "longer-text": b'{"kind":"replica",%s,"broker_id":2,"error":"%s"}' % (place.encode(), b"x" * 21_000_000),
        "long-name": b'{"kind":"replica",%s,"%s":1}' % (place.encode(), b"k" * 60_000),
        "exponent": b'{"kind":"replica",%s,"broker_id":2,"log_end_offset":1e400000000}' % place.encode(),
        "unclosed": b'{"kind":"replica",%s,"broker_id":2' % place.encode(),
        "control": b'{"kind":"replica",%s,"broker_id":2,"error":"\x01\x1b"}' % place.encode(),
    }
    for name, line in odd.items():
        land(tmp_path, name, [encoded(row) for row in [*BROKERS, *SOUND, *TARGET]] + [line])
    result = plans.write_plans(spark, plans.landing(tmp_path, RUN, None), tmp_path, "aggressive", "last_written_epoch")
    made = {plan["cluster"]: by_topic(planfile.load(plan["path"])) for plan in result["plans"]}
    assert len(made) + len(result["quarantine"]) == len(odd)
    for name, entries in made.items():
        assert entries["sound"]["designatedLeader"] == 2
        assert entries["target"]["section"] == "held", name
