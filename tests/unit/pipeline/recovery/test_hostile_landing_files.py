# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Landing files with sound seals and anything between: each is planned, with what is sound in it, or quarantined; Spark never fails."""

from __future__ import annotations

import hashlib
from pathlib import Path
from random import Random

import pytest
from evidence_documents import document
from hostile_content import DEEP, damage, encoded, mutate
from partition_situations import FENCED, RUN, Log, Situation, broker_rows, by_topic
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import DocumentError, decode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format, plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import plan_files

FILES = 150
BROKERS = [{name: value for name, value in row.items() if name != "kind"} for row in broker_rows(3, {1: 30.0})]
SOUND = document(Situation("sound", {1: FENCED, 2: Log.of((5, 0)), 3: Log.of((4, 0))}).rows())
TARGET = document(
    Situation("target", {1: FENCED, 2: Log.of((5, 0), (3, 1)), 3: Log.of((5, 0))}, proofs=[(5, 2, True), (5, 3, True)]).rows()
)


def changed(rng: Random) -> bytes:
    """The document of the target, changed in one way or in several."""
    line = encoded(mutate(rng, TARGET, most=2))
    return (damage(rng, line) if rng.random() < 0.5 else line).replace(b"\n", b" ")


def land(workdir: Path, cluster: str, lines: list[bytes]) -> None:
    header = {"kind": "header", "schema": landing_format.SCHEMA, "cluster": cluster, "cluster_id": f"id-of-{cluster}", "run_id": RUN,
              "collected_at": "2026-11-21T04:00:00Z", "backend": "compat", "brokers": BROKERS}  # fmt: skip
    content = b"".join(line + b"\n" for line in [encoded(header), *lines])
    seal = {"kind": "seal", "rows": len(lines) + 1, "sha256": hashlib.sha256(content).hexdigest()}
    path = workdir / "landing" / RUN / f"{cluster}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content + encoded(seal) + b"\n")


def names_its_partition(line: bytes) -> bool:
    """Whether a line can be put down to a partition."""
    try:
        decode(line)
    except DocumentError:
        return False
    return True


@pytest.mark.slow
def test_whatever_the_documents_hold(spark: SparkSession, tmp_path: Path) -> None:
    workdir, rng = tmp_path, Random(4711)
    lines = {f"changed-{number}": changed(rng) for number in range(FILES)}
    for name, line in lines.items():
        land(workdir, name, [encoded(SOUND), line])
    land(workdir, "sound", [encoded(SOUND), encoded(TARGET)])

    result = plan_files.write_plans(spark, plan_files.find_landing_files(workdir, RUN, None), workdir, "aggressive", "last_written_epoch")

    reasons = {Path(row["path"]).stem: row["reason"] for row in result["quarantine"]}
    made = {plan["cluster"]: by_topic(plan_file.load(plan["path"])) for plan in result["plans"]}
    assert {*reasons} | {*made} == {"sound", *lines}
    assert not {*reasons} & {*made}
    assert all(reason.isprintable() for reason in reasons.values())
    assert made["sound"]["target"]["designatedLeader"] == 2
    for name, entries in made.items():
        assert entries["sound"]["designatedLeader"] == 2, name
    framed = {name for name, line in lines.items() if line.startswith(b'{"kind":')}
    assert {name for name, line in lines.items() if not names_its_partition(line)} - framed == {*reasons} - framed
    held = {name for name, entries in made.items() if entries.get("target", {}).get("reason_code") == "incomplete"}
    assert min(len(held), len(reasons), len(made)) > FILES / 10, "some of each kind"


@pytest.mark.slow
def test_what_no_reader_of_json_takes_is_a_damaged_document(spark: SparkSession, tmp_path: Path) -> None:
    """Longer, deeper and larger than a parser allows: not a failure of Spark."""
    place = '"topic":"target","partition":0'
    odd = {
        "deep": encoded({"topic": "target", "partition": 0, "x": DEEP}),
        "long-number": b'{%s,"leader":%s}' % (place.encode(), b"9" * 5000),
        "long-text": b'{%s,"cleanup_policy":"%s"}' % (place.encode(), b"x" * 1_000_000),
        "longer-text": b'{%s,"cleanup_policy":"%s"}' % (place.encode(), b"x" * 21_000_000),
        "long-name": b'{%s,"%s":1}' % (place.encode(), b"k" * 60_000),
        "exponent": b'{%s,"leader":1e400000000}' % place.encode(),
        "unclosed": b'{%s,"leader":2' % place.encode(),
        "control": b'{%s,"cleanup_policy":"\x01\x1b"}' % place.encode(),
        "no-text": b'{%s,"cleanup_policy":"\xff"}' % place.encode(),
        "carriage-return": b'{%s,"leader":\r2}' % place.encode(),
        "twice": encoded(SOUND),
        "second-header": encoded({"kind": "header", "schema": landing_format.SCHEMA}),
        "second-seal": encoded({"kind": "seal", "rows": 2}),
        "nothing": b"",
    }
    for name, line in odd.items():
        land(tmp_path, name, [encoded(SOUND), line])
    result = plan_files.write_plans(spark, plan_files.find_landing_files(tmp_path, RUN, None), tmp_path, "aggressive", "last_written_epoch")
    made = {plan["cluster"]: by_topic(plan_file.load(plan["path"])) for plan in result["plans"]}
    reasons = {Path(row["path"]).stem: row["reason"] for row in result["quarantine"]}
    assert len(made) + len(reasons) == len(odd)
    for name, entries in made.items():
        assert entries["sound"]["designatedLeader"] == 2
        assert entries["target"]["reason_code"] == "incomplete", name
    assert reasons["twice"] == "two documents of sound-0"
    assert {reasons[name] for name in ("second-header", "second-seal")} == {"a header or a seal in the middle of it"}
    assert {name: reasons[name].partition(":")[0] for name in ("nothing", "unclosed")} == dict.fromkeys(("nothing", "unclosed"), "line 3")
