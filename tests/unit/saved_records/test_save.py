# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tails are saved whole or not at all, whatever brokers answer, and a run goes on where a killed one ended."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from full_disk import no_room
from hypothesis import given
from hypothesis import strategies as st
from record_batches import batch, log
from record_brokers import HEADER, KEY, Brokers, SlowBrokers, saved_bytes, tail

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedRecords
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import part_writer, saved_folder, store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.broker_pace import BrokerPaces
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import THROTTLED_ROUNDS, Saved, TailSaver
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import locked
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail, tails_of_plan


def save(folder: Path, brokers: Brokers, *tails: Tail, limits: Limits | None = None, compacted: Collection[str] = ()) -> Saved:
    return TailSaver(brokers, folder / "saved" / "1" / "east", HEADER, limits or Limits(), compacted, states=brokers).save(tails)


@given(st.data(), st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=5), min_size=1, max_size=5))
def test_every_tail_is_saved_byte_for_byte(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, sizes: list[list[int]]) -> None:
    folder = tmp_path_factory.mktemp("run")
    logs = {(("t", number), 2 + number % 2): log(*each) for number, each in enumerate(sizes)}
    tails = []
    for (key, broker), content in logs.items():
        starts = [one.base_offset for one in stored_batches(content)]
        tails.append(tail(data.draw(st.sampled_from(starts)), list(stored_batches(content))[-1].last_offset + 1, broker, key))
    killed_after = data.draw(st.none() | st.integers(0, 4))
    with suppress(KeyboardInterrupt):
        save(folder, Brokers(logs, killed_after=killed_after), *tails)
    found = save(folder, Brokers(logs), *tails)
    assert {*found.complete} == {*tails} and not found.refused
    for one in tails:
        assert one.start is not None
        content = logs[one.key, one.broker_id]
        assert saved_bytes(folder, one) == content[sum(each.size for each in stored_batches(content) if each.last_offset < one.start) :]
    assert {*save(folder, Brokers({}), *tails).before} == {*tails}


@pytest.mark.parametrize(
    ("content", "one", "reason"),
    [
        (log(5, 5), tail(0, 8), "its log has offset 9, and must end at 8: plan again"),
        (batch(0, 5) + batch(7, 3), tail(0, 10), "offsets 5 to 6 are missing, and cleanup.policy is not compact"),
        (log(3, start=4), tail(0, 7), "offsets 0 to 3 are missing, and cleanup.policy is not compact"),
        (batch(0, 5, epoch=-7), tail(0, 5), "the header of the batch at offset 0 has impossible values"),
        (log(5)[:-1] + b"?", tail(0, 5), "the crc of the batch at offset 0 is wrong: its bytes have changed since they were written"),
    ],
)
def test_records_that_are_not_as_the_plan_says_are_not_saved(tmp_path: Path, content: bytes, one: Tail, reason: str) -> None:
    brokers = Brokers({(KEY, 2): content})
    brokers._answer = lambda *_: FetchedRecords(None, content)  # type: ignore[method-assign]  # a broker that sends what it likes
    found = save(tmp_path, brokers, one)
    assert found.refused == {one: reason} and not found.complete
    assert not store.read_pieces(tmp_path / "saved" / "1" / "east", "id"), "what is saved of others can still be read"


def test_a_log_that_is_shorter_than_in_the_plan_is_not_saved(tmp_path: Path) -> None:
    found = save(tmp_path, Brokers({(KEY, 2): log(5, 5)}), tail(0, 12))
    assert found.refused == {tail(0, 12): "its log ends at offset 10, and not at 12: plan again"} and not found.complete


def test_a_run_goes_on_behind_the_last_part_of_a_killed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_writer, "PART_BYTES", 1)
    logs = {(KEY, 2): log(5, 5, 5, 5)}
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path, Brokers(logs, killed_after=2), tail(0, 20))
    rest = Brokers(logs)
    assert save(tmp_path, rest, tail(0, 20)).complete == [tail(0, 20)]
    assert rest.rounds == 2
    assert saved_bytes(tmp_path, tail(0, 20)) == logs[KEY, 2]


def test_compaction_explains_missing_offsets(tmp_path: Path) -> None:
    content = batch(0, 5) + batch(7, 3)
    assert save(tmp_path, Brokers({(KEY, 2): content}), tail(0, 10), compacted={"t"}).complete == [tail(0, 10)]
    assert saved_bytes(tmp_path, tail(0, 10)) == content


def test_what_cannot_be_read_says_why_and_the_others_go_on(tmp_path: Path) -> None:
    logs = {(KEY, 2): log(5), (KEY, 3): log(5)}
    found = save(tmp_path, Brokers(logs, silent={3}), tail(0, 5), tail(0, 5, broker=3))
    assert (found.complete, found.refused) == ([tail(0, 5)], {tail(0, 5, broker=3): "broker 3 does not answer: it hangs"})
    found = save(tmp_path, Brokers(logs, errors={3: "KAFKA_STORAGE_ERROR"}), tail(0, 5, broker=3))
    assert found.refused == {tail(0, 5, broker=3): "it cannot be read: KAFKA_STORAGE_ERROR"}
    found = save(tmp_path, Brokers(logs, errors={3: "OFFSET_MOVED_TO_TIERED_STORAGE"}), tail(0, 5, broker=3))
    assert not found.damaged
    (reason,) = found.refused.values()
    assert reason.startswith("offset 0 is only in remote storage (OFFSET_MOVED_TO_TIERED_STORAGE): stop this broker")


@pytest.mark.parametrize(
    ("brokers", "reason"),
    [
        (Brokers({}, leader=3), "the partition has a leader, broker 3: nothing needs to be elected"),
        (Brokers({}, leader_epoch=6), "its leader epoch is 6, and 5 in the plan: plan again"),
    ],
)
def test_a_partition_that_has_changed_is_not_read(tmp_path: Path, brokers: Brokers, reason: str) -> None:
    assert save(tmp_path, brokers, tail(0, 5)).changed == {tail(0, 5): reason}
    assert brokers.rounds == 0


def test_a_deleted_topic_is_not_read(tmp_path: Path) -> None:
    one = tail(0, 5, key=("deleted", 0))
    assert save(tmp_path, Brokers({}), one).changed == {one: "the topic of the plan does not exist any more: plan again"}


def test_without_a_common_offset_the_whole_log_is_saved(tmp_path: Path) -> None:
    content = log(3, 4, start=10)
    brokers = Brokers({(KEY, 2): content}, starts={2: {KEY: 10}})
    assert save(tmp_path, brokers, tail(None, 17)).complete == [tail(None, 17)]
    assert saved_bytes(tmp_path, tail(None, 17)) == content
    unknown = save(tmp_path / "other", Brokers({(KEY, 2): content}), tail(None, 17))
    assert "where its log begins could not be read" in unknown.refused[tail(None, 17)]


@pytest.mark.parametrize("start", [-1, -(1 << 63), 5, 6, (1 << 63) - 1])
def test_a_log_that_begins_at_no_offset_of_the_tail_is_not_saved(tmp_path: Path, start: int) -> None:
    """Neither is it taken for saved, nor is an index written that cannot be read again."""
    one = tail(None, 5)
    found = save(tmp_path, Brokers({(KEY, 2): log(5)}, starts={2: {KEY: start}}), one)
    assert not found.complete and "where its log begins" in found.refused[one]
    assert not store.read_pieces(tmp_path / "saved" / "1" / "east", "id")


def test_what_an_index_could_not_say_is_not_written(tmp_path: Path) -> None:
    logs = {(KEY, 2): log(5), (("u", 0), 3): log(4)}
    impossible, other = tail(0, 5)._replace(broker_epoch=-2), tail(0, 4, 3, ("u", 0))
    found = save(tmp_path, Brokers(logs), impossible, other)
    assert found.complete == [other] and "broker_epoch" in found.refused[impossible]
    assert saved_bytes(tmp_path, other) == log(4)


def test_a_broker_that_throttles_is_read_later(tmp_path: Path) -> None:
    logs = {(KEY, 2): log(5)}
    assert save(tmp_path / "later", Brokers(logs, throttled=THROTTLED_ROUNDS), tail(0, 5)).complete == [tail(0, 5)]
    never = save(tmp_path / "never", Brokers(logs, throttled=1000), tail(0, 5))
    assert never.refused == {tail(0, 5): "broker 2 does not answer: no answer for this partition"}


def test_a_slow_broker_is_read_after_the_others(tmp_path: Path) -> None:
    logs = {(KEY, 2): log(*[1] * 9), (("t", 1), 3): log(5, 5)}
    tails = tail(0, 9), tail(0, 10, broker=3, key=("t", 1))
    brokers = SlowBrokers(logs)
    assert save(tmp_path, brokers, *tails).complete == [*tails]
    assert brokers.asked[0] == [2, 3], "together at first"
    assert brokers.asked[1:] == [[2]] * 8 + [[3]] * 2, "then it delays no round of the others"


def test_a_broker_that_is_too_slow_is_named_and_the_others_are_saved(tmp_path: Path) -> None:
    logs = {(KEY, 2): log(5), (("t", 1), 3): log(*[1] * 9)}
    tails = tail(0, 5), tail(0, 9, broker=3, key=("t", 1))
    hours = itertools.count(step=3600.0)
    brokers = SlowBrokers(logs)
    saver = TailSaver(brokers, tmp_path / "run", HEADER, Limits(seconds=600.0), states=brokers, paces=BrokerPaces(lambda: next(hours)))
    found = saver.save(tails)
    assert found.complete == [tails[0]] and len(brokers.asked) < 9
    assert found.refused[tails[1]].startswith("broker 3 answers too slowly, and it was not read to its end in 600 s: ")
    assert save(tmp_path, SlowBrokers(logs), *tails).complete == [*tails]


def test_a_slow_broker_is_named_if_the_time_is_over(tmp_path: Path) -> None:
    brokers = SlowBrokers({(KEY, 2): log(5), (("t", 1), 3): log(*[1] * 9)})
    tails = tail(0, 5), tail(0, 9, broker=3, key=("t", 1))
    saver = TailSaver(
        brokers, tmp_path / "run", HEADER, Limits(), states=brokers, asked_to_stop=lambda: "SIGTERM" if len(brokers.asked) > 2 else None
    )
    assert saver.save(tails).refused == {tails[1]: "broker 3 answers too slowly, and SIGTERM came before it was read to its end"}


def test_a_broker_has_limited_time_to_say_where_its_logs_begin(tmp_path: Path) -> None:
    class Starts(Brokers):
        def log_starts(self, work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, int]]:
            return {} if deadline.end() is not None else {broker: {KEY: 0} for broker in work}

    (reason,) = save(tmp_path, Starts({(KEY, 2): log(5)}), tail(None, 5)).refused.values()
    assert "where its log begins could not be read: broker 2 does not answer" in reason


def test_brokers_whose_batches_do_not_fit_into_memory_together_are_read_one_by_one(tmp_path: Path) -> None:
    logs = {(KEY, 2): log(5), (("t", 1), 3): log(5)}
    tails = tail(0, 5), tail(0, 5, broker=3, key=("t", 1))
    assert {*save(tmp_path, Brokers(logs, too_large_together=True), *tails).complete} == {*tails}


def test_records_that_were_saved_in_another_leader_epoch_do_not_count(tmp_path: Path) -> None:
    save(tmp_path, Brokers({(KEY, 2): log(5)}, leader_epoch=4), tail(0, 5)._replace(leader_epoch=4))
    rest = Brokers({(KEY, 2): log(5)})
    assert save(tmp_path, rest, tail(0, 5)).before == [] and rest.rounds > 0


def test_two_runs_do_not_write_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "saved" / "1" / "east"
    with locked(folder), pytest.raises(FileError, match="another run saves records in"):
        save(tmp_path, Brokers({(KEY, 2): log(5)}), tail(0, 5))


def test_a_part_that_was_not_closed_does_not_count_as_saved(tmp_path: Path) -> None:
    """The disk is full when the second part is written."""
    logs = {(KEY, 2): log(5), (("t", 1), 2): log(5, 5)}
    saver = TailSaver(Brokers(logs), tmp_path / "saved" / "1" / "east", HEADER, Limits())
    first, second = tail(0, 5), tail(0, 10, key=("t", 1))
    saver.save([first])
    with no_room(saver._folder / "000001.batches"), pytest.raises(FileError, match=r"000002\.batches: File too large"):
        saver.save([first, second])
    assert {*saver.saved.complete} == {first}


def test_a_row_of_an_index_has_a_bounded_number_of_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_writer, "ROW_BATCHES", 2)
    content = log(1, 1, 1, 1, 1)
    brokers = Brokers({(KEY, 2): content})
    brokers._answer = lambda *_: FetchedRecords(None, content)  # type: ignore[method-assign]  # more than was asked for
    assert save(tmp_path, brokers, tail(0, 5)).complete == [tail(0, 5)]
    pieces = store.read_pieces(tmp_path / "saved" / "1" / "east", "id", whole=True)
    assert [(piece.start, piece.end) for piece in pieces] == [(0, 2), (2, 4), (4, 5)]
    assert saved_bytes(tmp_path, tail(0, 5)) == content


@pytest.mark.parametrize("broker_epoch", [None, 90])
def test_an_index_has_the_broker_epoch_if_it_is_known(tmp_path: Path, broker_epoch: int | None) -> None:
    save(tmp_path, Brokers({(KEY, 2): log(5)}), tail(0, 5)._replace(broker_epoch=broker_epoch))
    (piece,) = store.read_pieces(tmp_path / "saved" / "1" / "east", "id")
    assert piece.broker_epoch == broker_epoch


def test_what_takes_too_long_is_not_saved_now(tmp_path: Path) -> None:
    found = save(tmp_path, Brokers({(KEY, 2): log(5)}), tail(0, 5), limits=Limits(seconds=0.0))
    (reason,) = found.refused.values()
    assert reason == "it was not read to its end in 0 s: run again with the same plan and run id, which goes on, or raise save_timeout"


def test_limits_hold_back_what_is_beyond_them(tmp_path: Path) -> None:
    logs = {(KEY, 2): log(5), (("t", 1), 2): log(5)}
    tails = tail(0, 5), tail(0, 5, key=("t", 1))
    size = len(log(5))
    found = save(tmp_path / "run", Brokers(logs), *tails, limits=Limits(cluster_bytes=size))
    assert (found.complete, found.refused) == ([tails[0]], {tails[1]: f"all tails have more than {size} bytes: raise max_saved_bytes"})
    found = save(tmp_path / "one", Brokers(logs), *tails, limits=Limits(partition_bytes=size - 1))
    assert {*found.refused.values()} == {f"it has more than {size - 1} bytes: raise max_saved_partition_bytes"} and not found.complete


def test_the_clusters_of_a_run_have_one_limit_together(tmp_path: Path) -> None:
    size = len(log(5))
    brokers = Brokers({(KEY, 2): log(5)})
    run = tmp_path / "saved" / "1"
    limits = Limits(run_bytes=2 * size - 1)
    assert TailSaver(brokers, run / "west", HEADER | {"cluster": "west"}, limits).save([tail(0, 5)]).complete
    found = save(tmp_path, brokers, tail(0, 5), limits=limits)
    assert found.refused == {tail(0, 5): f"all clusters of the run have more than {2 * size - 1} bytes: raise max_saved_run_bytes"}
    assert save(tmp_path, brokers, tail(0, 5), limits=Limits(run_bytes=2 * size)).complete
    assert save(tmp_path, brokers, tail(0, 5), limits=Limits(run_bytes=1)).before, "what is saved already needs no more bytes"


def test_the_rate_is_kept(tmp_path: Path) -> None:
    waited: list[float] = []
    saver = TailSaver(
        Brokers({(KEY, 2): log(5, 5)}), tmp_path / "saved" / "1" / "east", HEADER, Limits(bytes_per_second=1), pause=waited.append
    )
    assert saver.save([tail(0, 10)]).complete
    assert len(log(5)) + len(log(5, 5)) - 2 < sum(waited) <= len(log(5)) + len(log(5, 5)), "after each of two rounds"


def test_no_pause_for_the_rate_is_longer_than_the_time_for_saving(tmp_path: Path) -> None:
    """Partitions have no leader meanwhile."""
    waited: list[float] = []
    limits = Limits(bytes_per_second=1, seconds=3.0)
    saver = TailSaver(Brokers({(KEY, 2): log(5, 5)}), tmp_path / "saved" / "1" / "east", HEADER, limits, pause=waited.append)
    assert saver.save([tail(0, 10)]).complete
    assert 5.0 < sum(waited) <= 6.0, "after each of two rounds"


def test_a_signal_ends_the_pause_for_the_rate(tmp_path: Path) -> None:
    waited: list[float] = []
    saver = TailSaver(
        Brokers({(KEY, 2): log(5, 5)}),
        tmp_path / "saved" / "1" / "east",
        HEADER,
        Limits(bytes_per_second=1),
        pause=waited.append,
        asked_to_stop=lambda: "SIGTERM" if len(waited) == 2 else None,
    )
    assert saver.save([tail(0, 10)]).refused == {tail(0, 10): "SIGTERM came before it was read to its end"}
    assert sum(waited) <= 2.0


def test_after_a_signal_nothing_more_is_read(tmp_path: Path) -> None:
    signals = iter([None, None, *["SIGTERM"] * 5])
    saver = TailSaver(
        Brokers({(KEY, 2): log(5, 5)}), tmp_path / "saved" / "1" / "east", HEADER, Limits(), asked_to_stop=lambda: next(signals)
    )
    assert saver.save([tail(0, 10)]).refused == {tail(0, 10): "SIGTERM came before it was read to its end"}
    assert saved_bytes(tmp_path, tail(0, 10)) == log(5)


def test_saved_records_of_another_cluster_are_refused(tmp_path: Path) -> None:
    save(tmp_path, Brokers({(KEY, 2): log(5)}), tail(0, 5))
    with pytest.raises(
        store.SavedRecordsError, match="has records of the cluster id, not of other: correct workdir, run_id, cluster or bootstrap_servers"
    ):
        store.read_pieces(tmp_path / "saved" / "1" / "east", "other")


def test_a_part_whose_batches_have_changed_is_refused(tmp_path: Path) -> None:
    save(tmp_path, Brokers({(KEY, 2): log(5)}), tail(0, 5))
    part = tmp_path / "saved" / "1" / "east" / "000001.batches"
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    with pytest.raises(store.SavedRecordsError, match="has changed since it was written; restore the part from a copy"):
        store.read_pieces(part.parent, "id", whole=True)


def test_what_an_earlier_run_saved_and_was_edited_since_does_not_count_as_saved(tmp_path: Path) -> None:
    """Its length is right, and the election would destroy the only other copy."""
    brokers = Brokers({(KEY, 2): log(5)})
    save(tmp_path, brokers, tail(0, 5))
    part = tmp_path / "saved" / "1" / "east" / "000001.batches"
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    with pytest.raises(store.SavedRecordsError, match="has changed since it was written"):
        save(tmp_path, brokers, tail(0, 5))


def test_parts_that_do_not_count_for_these_tails_are_not_read_again(tmp_path: Path) -> None:
    others = tail(0, 5, key=("t", 1))
    brokers = Brokers({(KEY, 2): log(5), (others.key, 2): log(5)})
    save(tmp_path, brokers, tail(0, 5))
    part = tmp_path / "saved" / "1" / "east" / "000001.batches"
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    assert save(tmp_path, brokers, others).complete == [others]


def test_digests_are_checked_without_the_index_again(tmp_path: Path) -> None:
    """It was read with the pieces, and is large where batches are small."""
    save(tmp_path, Brokers({(KEY, 2): log(5)}), tail(0, 5))
    folder = tmp_path / "saved" / "1" / "east"
    pieces = store.read_pieces(folder, "id")
    (folder / "000001.jsonl").unlink()
    store.check_digests(pieces)
    (folder / "000001.batches").write_bytes(b"?")
    with pytest.raises(store.SavedRecordsError, match=r"000001\.batches has changed since it was written"):
        store.check_digests(pieces)


def test_a_run_does_not_go_on_beside_a_missing_index(tmp_path: Path) -> None:
    """Else all that reads the folder later refuses it."""
    brokers = Brokers({(KEY, 2): log(5), (("t", 1), 2): log(5)})
    for one in (tail(0, 5), tail(0, 5, key=("t", 1))):
        save(tmp_path, brokers, one)
    (tmp_path / "saved" / "1" / "east" / "000001.jsonl").unlink()
    with pytest.raises(store.SavedRecordsError, match=r"000001\.jsonl is missing"):
        save(tmp_path, brokers, tail(0, 5))


def test_a_part_that_a_killed_run_has_not_counted_is_counted_by_the_next_one(tmp_path: Path) -> None:
    brokers = Brokers({(KEY, 2): log(5), (("t", 1), 2): log(5), (("t", 2), 2): log(5)})
    folder = tmp_path / "saved" / "1" / "east"
    for one in (tail(0, 5), tail(0, 5, key=("t", 1))):
        save(tmp_path, brokers, one)
    for more, parts in ((tail(0, 5, key=("t", 1)), 2), (tail(0, 5, key=("t", 2)), 3)):
        (folder / "parts").write_text("1\n")
        (folder / ".parts.new").write_text("2")
        assert save(tmp_path, brokers, more).complete == [more]
        assert (folder / "parts").read_text() == f"{parts}\n" and not (folder / ".parts.new").exists()
    assert len(store.read_pieces(folder, "id", whole=True)) == 3


def test_tails_are_the_truncated_ends_of_a_plan() -> None:
    ends = {2: 120, 3: 180, 4: 7}
    survivors = [{"broker_id": broker, "log_end_offset": end, "broker_epoch": 90 if broker == 3 else None} for broker, end in ends.items()]
    truncated = [{"broker_id": 3, "offset": 100, "records": 80}, {"broker_id": 4, "offset": None, "records": None}]
    entry = {
        "topic": "t", "partition": 0, "guards": {"topic_id": "id-of-t", "leader_epoch": 5, "survivors": survivors}, "truncated": truncated,
        "fenced_truncated": [{"broker_id": 1, "log_end_offset": 105, "offset": 100, "records": 5}], "isr": [1], "eligible_leader_replicas": [4],
    }  # fmt: skip
    plan = {"plan_id": "p", "partitions": [entry]}
    assert list(tails_of_plan(plan)) == [
        tail(100, 180, 3)._replace(broker_epoch=90),
        tail(None, 7, 4)._replace(in_sync=True),
        tail(100, 105, 1)._replace(in_sync=True),
    ]
    with pytest.raises(RecoveryError, match="bare KIP-1275 file"):
        list(tails_of_plan({"partitions": []}))


def test_a_part_of_the_file_system_stays_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_folder, "FREE_BYTES", 1 << 60)
    monkeypatch.setattr(saved_folder, "FREE_SHARE", 1)
    brokers = Brokers({(KEY, 2): log(5, 5)})
    found = save(tmp_path, brokers, tail(0, 10))
    assert "make room, or choose another workdir" in found.refused[tail(0, 10)] and not found.complete and found.size == 0
    assert not [*tmp_path.rglob("*.batches")]
    monkeypatch.undo()
    assert save(tmp_path, brokers, tail(0, 10)).complete == [tail(0, 10)]


def test_the_progress_file_counts_what_this_run_has_to_read(tmp_path: Path) -> None:
    logs = {(("t", number), 2): log(5, 5) for number in range(2)}
    save(tmp_path, Brokers(logs), tail(0, 10, key=("t", 0)))
    save(
        tmp_path, Brokers(logs, errors={3: "KAFKA_STORAGE_ERROR"}), *(tail(0, 10, key=("t", number)) for number in range(2)), tail(0, 7, 3)
    )
    found = json.loads((tmp_path / "saved" / "1" / "east" / "progress.json").read_text())
    assert (found["replicas"], found["saved"], found["offsets"], found["saved_offsets"]) == (2, 1, 17, 10)
    assert found["ended"] and found["bytes"] == len(log(5, 5))
