# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Merged replays: only the saved records that were reviewed, with the options that were reviewed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from record_batches import batch
from reviewed_samples import OPTIONS, REPLAYED, replays
from saved_folders import folder, save

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import replays_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.approved_replays import ApprovedReplays, proposal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_rules import Chosen
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_source import Outcome, Source, sources_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replicas import by_replica
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.selection import Selection

STATE = PartitionState("t", 0, "id-of-t", 1, 1, (1,), (1,), (), (), ())


def saved(tmp_path: Path, records: int = 2) -> Source:
    save(tmp_path, {("t", 0, 1, 0): batch(0, records)})
    (source,) = sources_of(by_replica(store.read_pieces(folder(tmp_path), "id", whole=True)), Selection())
    return source


def approved(tmp_path: Path, source: Source, **values: Any) -> ApprovedReplays:
    row = {**REPLAYED, "saved_sha256": source.digest, **values}
    (tmp_path / "merged.json").write_bytes(replays(partitions=[row]))
    return ApprovedReplays(tmp_path / "merged.json", "east", "r1")


def test_the_digest_is_that_of_the_batches_wherever_they_are(tmp_path: Path) -> None:
    assert saved(tmp_path / "a").digest == saved(tmp_path / "b").digest != saved(tmp_path / "c", 3).digest
    more = saved(tmp_path / "a").digest
    assert more != saved(tmp_path / "b", 5).digest


def test_reviewed_options_count_and_the_others_do_not(tmp_path: Path) -> None:
    given = {**OPTIONS, "include_undecided": True, "topics": ["u"], "run_id": "r1", "replayed_bytes_per_second": 5}
    found = approved(tmp_path, saved(tmp_path)).options(given)
    assert (found["include_undecided"], found["topics"], found["run_id"], found["replayed_bytes_per_second"]) == (False, None, "1", 5)
    assert found["partitions"] == [{"topic": "t", "partition": 0}]


@pytest.mark.parametrize("change", ["records", "topic", "gone", "none"])
def test_a_partition_that_has_changed_is_left_out(tmp_path: Path, change: str) -> None:
    source = saved(tmp_path)
    file = approved(tmp_path, source, **({"saved_sha256": "another"} if change == "records" else {}))
    states = {"records": STATE, "none": STATE, "topic": replace(STATE, topic_id="another")}
    same, changed = file.check([source], {source.key: states[change]} if change in states else {})
    assert (len(same), len(changed)) == ((1, 0) if change == "none" else (0, 1))
    if changed:
        assert "propose the replays again" in str(changed[0].reason)
        result = file.write(tmp_path, changed)
        document = json.loads(Path(result["results_path"]).read_text())
        assert result["failed"] and document["complete"] and document["summary"]["stale"] == 1


def test_records_that_are_not_saved_here_are_named(tmp_path: Path) -> None:
    source = saved(tmp_path)
    with pytest.raises(RecoveryError, match="no record of t-0 is saved in this workdir by run 1"):
        approved(tmp_path, source).check([], {})


def test_no_more_records_are_written_than_were_reviewed(tmp_path: Path) -> None:
    source = saved(tmp_path, 3)
    approved(tmp_path, source).check([source], {source.key: STATE})
    source.read()
    outcome = Outcome(source, "t")
    records = [Chosen(selected.record, None, None, None) for rows in source.selected(Selection(), 1 << 20) for selected in rows]  # type: ignore[arg-type]
    with pytest.raises(ClusterError, match="3 records would be written, and 2 were reviewed"):
        outcome.count(records)
    outcome.count(records[:2])
    assert (outcome.left, outcome.bytes) == (2, sum(one.size for one in records[:2]))


def test_records_that_are_changed_after_the_check_are_not_read(tmp_path: Path) -> None:
    source = saved(tmp_path)
    source.read()
    (part,) = folder(tmp_path).glob("*.batches")
    others = batch(0, 2, producer_id=7)
    assert len(others) == part.stat().st_size and others != part.read_bytes()
    part.write_bytes(others)
    with pytest.raises(store.SavedRecordsError, match="has changed since it was checked"):
        list(chain.from_iterable(source.selected(Selection(), 1 << 20)))


def test_results_are_complete_if_nothing_is_left(tmp_path: Path) -> None:
    source = saved(tmp_path)
    file = approved(tmp_path, source)
    source.read()
    done = file.write(tmp_path, [Outcome(source, "t", records=2, replayed=2)])
    assert not done.get("failed") and json.loads(Path(done["results_path"]).read_text())["complete"]
    left = file.write(tmp_path, [Outcome(source, "t", records=2, reason="t-0 has no live leader")])
    assert "no live leader" in left["msg"] and not json.loads(Path(left["results_path"]).read_text())["complete"]


def test_what_is_proposed_is_what_a_dry_run_counts(tmp_path: Path) -> None:
    source = saved(tmp_path)
    source.read()
    counted = Outcome(source, "t", records=9, skipped=Counter(in_cluster=7), bytes=2048)
    params = {**OPTIONS, "run_id": "1", "cluster": "east"}
    found = proposal(params, [counted])
    row = {**REPLAYED, "saved_sha256": source.digest, "markers": 0}
    assert found == {"saved_run_id": "1", "options": OPTIONS, "partitions": [row], "held": []}
    assert replays_file.FORMAT.parse(replays(**found), "east.json")["partitions"] == [row]
    held = proposal(params, [Outcome(source, "t", records=9, reason="the topic is compacted")])
    assert held["partitions"] == [] and held["held"] == [{"topic": "t", "partition": 0, "explanation": "the topic is compacted"}]
    assert proposal(params, [Outcome(source, "t", records=7, skipped=Counter(in_cluster=7))])["partitions"] == []
