# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From layout files to reassignment files: what is read, what is quarantined, and that the same input gives the same file."""

from __future__ import annotations

import json
import re
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from cluster_layouts import RUN, broker, land, partition
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.redundancy import reassignment_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.redundancy.reassignment_files import Options, skew_percent
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import validate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import cluster_batches

ROWS = [
    broker(1, "fenced"),
    broker(2),
    broker(3),
    partition("orders", 0, [1, 2], [2], 700),
    partition("orders", 1, [1, 3], [3], 300),
    partition("offline", 0, [1], []),
    partition("whole", 0, [2, 3]),
]


def written(spark: SparkSession, workdir: Path, clusters: list[str] | None = None, **options: Any) -> dict[str, Any]:
    return reassignment_files.write(spark, reassignment_files.find_layout_files(workdir, RUN, clusters), workdir, Options(**options))


def test_good_clusters_are_planned_and_others_quarantined_with_reasons(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, "east", ROWS)
    land(tmp_path, "nothing", [])
    land(tmp_path, "stranger", ROWS)
    land(tmp_path, "evidence", ROWS, content="landing")
    folder = tmp_path / "layout" / RUN
    shutil.copy(folder / "east.jsonl", folder / "copied.jsonl")
    (folder / "cut.jsonl").write_bytes((folder / "east.jsonl").read_bytes()[:-200])
    (folder / "no file of ours").write_text("not read")
    result = written(spark, tmp_path, ["east", "nothing", "evidence", "copied", "cut", "unreached"])
    assert [(plan["cluster"], plan["planned"], plan["held"], plan["bytes"]) for plan in result["plans"]] == [
        ("east", 2, 1, 1000),
        ("nothing", 0, 0, 0),
    ]
    reasons = {Path(row["path"]).stem: row["reason"] for row in result["quarantine"]}
    expected = {
        "copied": "it is of cluster east and run run-1",
        "cut": "no seal at its end",
        "evidence": "does not have the layout",
        "stranger": "not among the expected",
        "unreached": "there is no layout file",
    }
    assert reasons.keys() == expected.keys()
    assert all(text in reasons[name] for name, text in expected.items())
    assert result["summary"] == {
        "clusters": 2,
        "quarantined": 5,
        "planned": 2,
        "held": 1,
        "held_by_reason": {"no_leader": 1},
        "adding_replicas": 2,
        "bytes": 1000,
    }
    assert result["warnings"] == []
    files = sorted((tmp_path / "reassignments" / RUN).iterdir())
    assert [file.name for file in files] == ["east.json", "nothing.json"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


BROKEN: dict[str, tuple[list[Any], str]] = {
    "broker-twice": ([broker(1), broker(1, "fenced")], "it has two rows of a broker"),
    "partition-twice": ([broker(1), partition("orders", 0, [1]), partition("orders", 0, [1])], "it has two rows of a partition"),
    "replica-twice": ([partition("orders", 0, [1, 1])], "a partition row that breaks the schema"),
    "no-replicas": ([partition("orders", 0, [])], "a partition row that breaks the schema"),
    "negative-size": ([partition("orders", 0, [1], size=-1)], "a partition row that breaks the schema"),
    "size-of-no-disk": ([partition("orders", 0, [1], size=2**63 - 1)], "a partition row that breaks the schema"),
    "disk-of-no-machine": ([broker(1, usable=1000, total=2**63 - 1)], "a broker row that breaks the schema"),
    "room-on-no-disk": ([broker(1, usable=2**50 + 1, total=1000)], "a broker row that breaks the schema"),
    "size-without-broker": ([partition("orders", 0, [1], sizes=[[1]])], "a partition row that breaks the schema"),
    "text-for-a-number": ([partition("orders", 0, [1], leader="one")], "a partition row that breaks the schema"),
    "no-topic": ([partition("no topic", 0, [1])], "a partition row that breaks the schema"),
    "lost-field": (
        [{key: value for key, value in partition("a", 0, [1]).items() if key != "isr"}],
        "a partition row that breaks the schema",
    ),
    "state-of-nothing": ([broker(1, "asleep")], "a broker row that breaks the schema"),
    "other-kind": ([{"kind": "replica"}], "a row of no known kind"),
}


MOST = 2**50
ABSURD = [broker(1, "fenced"), broker(2), broker(3), broker(4, usable=MOST, total=MOST)]
ABSURD += [partition("orders", number, [1, 2], [2], MOST) for number in range(100)]
RETURNING = [broker(1, "coming_back"), broker(2), broker(3), partition("orders", 0, [1, 2], [2])]
UNKNOWN_SIZE = [broker(1, "fenced"), broker(2), broker(3), partition("orders", 0, [1, 2], [2], None)]
SOUND = {"absurd": ABSURD, "east": ROWS, "given_up": RETURNING, "returning": RETURNING, "unknown_size": UNKNOWN_SIZE}


@pytest.fixture(scope="module")
def of_all(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The result for files with a valid seal, sound ones and some with an invalid row."""
    workdir = tmp_path_factory.mktemp("all")
    for name, rows in (*SOUND.items(), *((name, rows) for name, (rows, _) in BROKEN.items())):
        land(workdir, name, rows)
    return written(spark, workdir, lost_brokers={"given_up": [1]})


def document_of(result: dict[str, Any], cluster: str) -> dict[str, Any]:
    """The file of one cluster."""
    (path,) = [Path(plan["path"]) for plan in result["plans"] if plan["cluster"] == cluster]
    document: dict[str, Any] = json.loads(path.read_bytes())
    return document


@pytest.mark.slow
def test_a_file_with_a_row_that_breaks_the_schema_is_not_used(of_all: dict[str, Any]) -> None:
    """A file with a valid seal and an invalid row is not used. The other clusters are planned."""
    assert [plan["cluster"] for plan in of_all["plans"]] == sorted(SOUND)
    assert {Path(row["path"]).stem: row["reason"] for row in of_all["quarantine"]} == {name: reason for name, (_, reason) in BROKEN.items()}
    folder = Path(of_all["plans"][0]["path"]).parent
    assert sorted(file.name for file in folder.iterdir()) == [f"{name}.json" for name in sorted(SOUND)]


@pytest.mark.slow
def test_brokers_that_claim_the_largest_sizes_do_not_end_the_plan_of_the_others(of_all: dict[str, Any]) -> None:
    assert document_of(of_all, "absurd")["summary"]["adding_replicas"] == 100
    assert document_of(of_all, "east")["summary"]["adding_replicas"] == 2


@pytest.mark.slow
def test_a_cluster_in_which_a_lost_broker_lives_is_not_planned(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, "east", ROWS)
    land(tmp_path, "west", [broker(1), broker(2, "fenced"), partition("orders", 0, [1, 2], [1])])
    result = written(spark, tmp_path, lost_brokers=[1, 8])
    assert [plan["cluster"] for plan in result["plans"]] == ["east"]
    assert "broker 1 is named in lost_brokers, but it is unfenced" in result["quarantine"][0]["reason"]
    assert len(result["warnings"]) == 1 and "lost_brokers names 8" in result["warnings"][0]


@pytest.mark.slow
def test_each_cluster_is_judged_by_its_own_lost_brokers(spark: SparkSession, tmp_path: Path) -> None:
    """The same id lives in one cluster and is lost in another. A cluster that is not named gives up its fenced brokers."""
    rows = [partition("orders", 0, [1, 3], [3]), partition("orders", 1, [2, 3], [3])]
    for name, lost in (("east", 1), ("west", 2), ("north", 1)):
        land(tmp_path, name, [*(broker(one, "fenced" if one == lost else "unfenced") for one in (1, 2, 3)), *rows])
    land(tmp_path, "south", [broker(1, "fenced"), broker(2, "coming_back"), broker(3), broker(4), *rows])
    land(tmp_path, "alive", [broker(1), broker(2), broker(3), *rows])
    land(tmp_path, "none", [broker(1, "fenced"), broker(2), broker(3), *rows])
    lost_brokers = {"east": [1], "west": [2, 8], "south": [2], "alive": [3], "none": []}
    result = written(spark, tmp_path, lost_brokers=lost_brokers)
    documents = {plan["cluster"]: json.loads(Path(plan["path"]).read_text()) for plan in result["plans"]}
    assert {name: [row["removing_replicas"] for row in document["partitions"]] for name, document in documents.items()} == {
        "east": [[1]],
        "none": [],
        "north": [[1]],
        "south": [[2]],
        "west": [[2]],
    }
    assert {name: document["options"]["lost_brokers"] for name, document in documents.items()} == {
        "east": [1],
        "none": [],
        "north": None,
        "south": [2],
        "west": [2, 8],
    }
    ((path, reason),) = [(Path(row["path"]).stem, row["reason"]) for row in result["quarantine"]]
    assert path == "alive" and "broker 3 is named in lost_brokers, but it is unfenced" in reason
    assert result["warnings"] == ["west: lost_brokers names 8, which is not in this cluster: nothing was planned for it"]


@pytest.mark.slow
def test_a_topic_that_no_planned_cluster_has_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """A misspelt topic would otherwise look like one that needs no new replica."""
    land(tmp_path, "east", ROWS)
    land(tmp_path, "west", [broker(1, "fenced"), broker(2), broker(3), partition("payments", 0, [1, 2], [2])])
    land(tmp_path, "damaged", [broker(1, "fenced"), broker(1), partition("refunds", 0, [1, 2], [2])])
    result = written(spark, tmp_path, topics=["whole", "payments", "ordres", "refunds"])
    assert result["summary"]["planned"] == 1
    assert result["warnings"] == [
        "topics names ordres, which is in no planned cluster: nothing was planned for it",
        "topics names refunds, which is in no planned cluster: nothing was planned for it",
    ]


@pytest.mark.slow
def test_brokers_that_come_back_are_named_and_keep_their_replicas(of_all: dict[str, Any]) -> None:
    (warning,) = [text for text in of_all["warnings"] if "coming back" in text]
    assert warning.startswith("returning: coming back: 1; nothing was planned for the replicas there")
    assert document_of(of_all, "returning")["partitions"] == []
    assert len(document_of(of_all, "given_up")["partitions"]) == 1


@pytest.mark.slow
def test_an_unknown_size_gives_a_warning(of_all: dict[str, Any]) -> None:
    (warning,) = [text for text in of_all["warnings"] if "the size of" in text]
    assert warning.startswith("unknown_size: the size of 1 partitions is not known")


@pytest.mark.slow
def test_the_size_of_a_partition_that_gets_an_empty_leader_does_not_matter(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, "east", [broker(1, "fenced"), broker(2), broker(3), partition("gone", 0, [1], [], None)])
    result = written(spark, tmp_path, lost_brokers=[1], without_survivor=True)
    assert (result["summary"]["planned"], result["warnings"]) == (1, [])


@pytest.mark.slow
def test_the_file_is_one_of_kafka_reassign_partitions(of_all: dict[str, Any]) -> None:
    """Version 1 and the three keys that Kafka's tool reads, of their types; it does not look at others."""
    plan = document_of(of_all, "east")
    assert plan["version"] == 1
    assert [(row["topic"], row["partition"], row["replicas"]) for row in plan["partitions"]] == [
        ("orders", 0, [2, 3]),
        ("orders", 1, [3, 2]),
    ]
    assert all("log_dirs" not in row for row in plan["partitions"])
    assert (plan["cluster"], plan["cluster_id"], plan["run_id"]) == ("east", "id-of-east", RUN)
    ((path, digest),) = [(entry["path"], entry["file_sha256"]) for entry in of_all["plans"] if entry["cluster"] == "east"]
    read = validate.wanted(None, path, digest)
    assert read == {("orders", 0): (2, 3), ("orders", 1): (3, 2)}, "and kafka_partition_reassignment takes it"


@pytest.mark.slow
def test_the_same_layout_gives_the_same_bytes_but_for_id_and_time(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many clusters are planned together."""
    land(tmp_path, "east", ROWS)
    land(tmp_path, "west", ROWS)
    volatile = re.compile(rb'^"(plan_id|created_at)": .*$', re.MULTILINE)
    paths = [Path(plan["path"]) for plan in written(spark, tmp_path)["plans"]]
    first = [path.read_bytes() for path in paths]
    monkeypatch.setattr(cluster_batches, "BATCH_BYTES", 1)
    assert [plan["cluster"] for plan in written(spark, tmp_path)["plans"]] == ["east", "west"]
    for path, before in zip(paths, first, strict=True):
        assert json.loads(path.read_bytes())
        assert volatile.sub(b"", path.read_bytes()) == volatile.sub(b"", before)


def test_a_run_without_a_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecoveryError, match="collect the layout of run run-9 first"):
        reassignment_files.find_layout_files(tmp_path, "run-9", None)


@pytest.mark.parametrize(("run_id", "clusters"), [("../etc", None), (RUN, ["../east"]), (RUN, [".."]), (RUN, [""])])
def test_names_that_leave_the_directory_are_refused(tmp_path: Path, run_id: str, clusters: list[str] | None) -> None:
    land(tmp_path, "east", ROWS)
    with pytest.raises(FileError, match="cannot be a file name"):
        reassignment_files.find_layout_files(tmp_path, run_id, clusters)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replication_factor": 0}, "replication_factor 0 is not between 1 and"),
        ({"topics": []}, "option topics is empty"),
        ({"topics": ["no topic"]}, "topics: 'no topic' cannot be a topic of Kafka"),
        ({"max_disk_percent": 0}, "max_disk_percent 0 is not between 1 and 100"),
        ({"max_disk_percent": 101}, "max_disk_percent 101 is not between 1 and 100"),
    ],
)
def test_options_that_no_cluster_can_fulfil_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RecoveryError, match=re.escape(message)):
        Options(**options).check()


def test_options_that_can_be_fulfilled() -> None:
    Options().check()
    Options(lost_brokers=[], replication_factor=1, topics=["__consumer_offsets"], max_disk_percent=100).check()


@pytest.mark.parametrize(
    ("loads", "skew"), [([], None), ([0, 0], None), ([5, 5, None], 0), ([1, 3], 50), ([2, 1, 1, 1], 60), ([10**15, 1], 99)]
)
def test_skew_is_what_the_first_has_above_the_mean(loads: list[int | None], skew: int | None) -> None:
    assert skew_percent(loads) == skew
