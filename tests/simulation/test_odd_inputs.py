# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved records that are forged, metadata logs that are odd, and answers with other bytes: what the histories hand to the product."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from unit import metadata_logs as encoded
from unit.saved_folders import folder, save

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.metadata_log_reader import MetadataLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_records
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import replicas, store
from simulation.forged_parts import forge
from simulation.kraft import Partition
from simulation.logs import batch
from simulation.metadata_log import MetadataLog as SimulatedLog
from simulation.odd_metadata import RECORDS
from simulation.wrong_answers import WrongAnswers


@pytest.fixture
def index(tmp_path: Path) -> Path:
    data = b"".join(batch(offset, 0, f"orders-0#{offset}", 1).data for offset in range(4))
    return save(tmp_path, {("orders", 0, 1, 0): data}).with_suffix(".jsonl")


def test_a_forged_part_has_a_seal_and_digests_that_fit(index: Path, tmp_path: Path) -> None:
    """So it is refused, if at all, for what it says. Some forgeries can be read: nothing in them contradicts itself."""
    whole, read, refused = index.read_bytes(), set(), set()
    records = index.with_suffix(".batches").read_bytes()
    for number in range(200):
        index.write_bytes(whole)
        index.with_suffix(".batches").write_bytes(records)
        how = forge(index, Random(number))
        try:
            for one in replicas.by_replica(store.read_pieces(folder(tmp_path), "id", whole=True)).items():
                replicas.contents_of(*one)
            read.add(how)
        except store.SavedRecordsError as error:
            said = str(error).replace(str(tmp_path), "")
            assert "seal" not in said and "has changed since it was written" not in said
            refused.add(how)
    assert len(read) >= 5 and len(refused) >= 3 and None not in read | refused


def test_a_part_that_cannot_be_read_is_not_forged(index: Path) -> None:
    index.write_bytes(b"{\n")
    assert forge(index, Random(1)) is None and index.read_bytes() == b"{\n"


def test_the_product_knows_few_of_the_odd_records() -> None:
    unknown = 0
    for record in RECORDS:
        try:
            metadata_records.decode(record)
        except metadata_records.UnknownRecordError:
            unknown += 1
    assert unknown == len(RECORDS) - 3


def test_a_snapshot_has_the_states_of_partitions_without_their_history() -> None:
    log = SimulatedLog(lambda: 1000, ["orders"], {"orders": 2})
    state = Partition(0, (1, 2, 3), leader=2, epoch=7, isr=(2,))
    log.take_snapshot({("orders", 0): state})
    assert log.snapshot is not None
    end, data = log.snapshot
    active = encoded.Active(end=end, snapshot=(end, 1, data), piece=50)
    found = [metadata_records.decode(one.value) for one in MetadataLog(active, 10.0)]
    (partition,) = [one for one in found if isinstance(one, metadata_records.PartitionRegistration)]
    assert (partition.isr, partition.leader, partition.leader_epoch) == ((2,), 2, 7)


def test_garbled_answers_have_as_many_bytes_in_which_some_are_others() -> None:
    wrong = WrongAnswers(lambda _text: None, lambda _node, _request: None)

    class Answer:
        name = "FetchRequest"

        @staticmethod
        def encode(version: int) -> bytes:
            return bytes(range(100, 200))

    changed = set()
    for number in range(30):
        wrong.begin(number, [1], requests=["FetchRequest"], garbles=True)
        if (found := wrong.falsified(1, Answer, Answer, 4)) is not None:
            assert isinstance(found, bytes) and found != Answer.encode(4)
            changed.add(found)
    assert len(changed) > 10
