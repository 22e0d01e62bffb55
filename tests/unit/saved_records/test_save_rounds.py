# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rounds of requests for saved records: how much each asks for, how long it may take, and what ends a broker's part in them."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from record_batches import log
from record_brokers import HEADER, KEY, Brokers, SlowBrokers, saved_bytes, tail

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedRecords
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.broker_pace import BrokerPaces
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import Saved, TailSaver
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits

MIB = 1 << 20
Work = Mapping[int, Mapping[TopicPartition, int]]
Answers = dict[int, dict[TopicPartition, FetchedRecords]]


@dataclass
class Watched(Brokers):
    """Keeps how many partitions each request asks of each broker, and for how many bytes of a partition and of an answer."""

    sizes: list[tuple[dict[int, int], int, int]] = field(default_factory=list)

    def records(self, work: Work, partition_bytes: int, answer_bytes: int) -> Answers:
        self.sizes.append(({broker: len(offsets) for broker, offsets in work.items()}, partition_bytes, answer_bytes))
        return super().records(work, partition_bytes, answer_bytes)


def saver(folder: Path, brokers: Brokers, limits: Limits | None = None) -> TailSaver:
    return TailSaver(brokers, folder / "saved" / "1" / "east", HEADER, limits or Limits(), states=brokers)


@pytest.mark.parametrize(("count", "together", "answer"), [(1, 1, 8 * MIB), (5, 5, 32 * MIB // 5), (40, 32, MIB)])
def test_the_answers_of_a_round_fit_into_32_mib(tmp_path: Path, count: int, together: int, answer: int) -> None:
    keys = {broker: ("t", broker) for broker in range(count)}
    brokers = Watched({(key, broker): log(5) for broker, key in keys.items()})
    found = saver(tmp_path, brokers).save(tail(0, 5, broker, key) for broker, key in keys.items())
    assert len(found.complete) == count
    assert brokers.sizes[0] == (dict.fromkeys(range(together), 1), MIB, answer)
    assert [sum(work.values()) for work, *_ in brokers.sizes] == ([32, 8] if count == 40 else [count])


def test_a_request_has_200_partitions_of_a_broker_and_the_next_one_the_others(tmp_path: Path) -> None:
    keys = [("t", number) for number in range(201)]
    brokers = Watched({(key, 2): log(1) for key in keys})
    assert len(saver(tmp_path, brokers).save(tail(0, 1, 2, key) for key in keys).complete) == 201
    assert [work[2] for work, *_ in brokers.sizes] == [200, 1]


def test_after_answers_that_are_too_large_together_each_round_has_one_broker(tmp_path: Path) -> None:
    logs = {(("t", broker), broker): log(5) for broker in (1, 2, 3)}
    brokers = Watched(logs, too_large_together=True)
    assert len(saver(tmp_path, brokers).save(tail(0, 5, broker, ("t", broker)) for broker in (1, 2, 3)).complete) == 3
    assert [[*work] for work, *_ in brokers.sizes] == [[1, 2, 3], [1], [2], [3]]


def test_a_broker_whose_answer_alone_is_too_large_is_refused_and_the_others_are_saved(tmp_path: Path) -> None:
    class Large(Brokers):
        def records(self, work: Work, partition_bytes: int, answer_bytes: int) -> Answers:
            if 2 in work:
                raise ClusterError("an answer takes more than 96 MiB")
            return super().records(work, partition_bytes, answer_bytes)

    others = ("t", 1), ("t", 2)
    tails = tail(0, 5), tail(0, 5, key=others[0]), tail(0, 5, 3, others[1])
    found = saver(tmp_path, Large({(others[1], 3): log(5)})).save(tails)
    assert (found.complete, found.refused) == ([tails[2]], dict.fromkeys(tails[:2], "an answer takes more than 96 MiB"))


def test_a_broker_that_throttles_20_times_in_a_row_is_given_up_only_then(tmp_path: Path) -> None:
    never = Brokers({(KEY, 2): log(5)}, throttled=1000)
    assert saver(tmp_path / "never", never).save([tail(0, 5)]).refused and never.rounds == 21

    class Now(Brokers):
        """Gives one batch after every 20 answers without records."""

        def records(self, work: Work, partition_bytes: int, answer_bytes: int) -> Answers:
            answers = super().records(work, partition_bytes, answer_bytes)
            return answers if self.rounds % 21 == 0 else {broker: {} for broker in work}

    now = Now({(KEY, 2): log(5, 5, 5)})
    assert saver(tmp_path / "now", now).save([tail(0, 15)]).complete == [tail(0, 15)] and now.rounds == 63


def test_records_begin_the_count_of_answers_without_any_again(tmp_path: Path) -> None:
    class Once(Brokers):
        def records(self, work: Work, partition_bytes: int, answer_bytes: int) -> Answers:
            answers = super().records(work, partition_bytes, answer_bytes)
            return answers if self.rounds == 1 else {broker: {} for broker in work}

    once = Once({(KEY, 2): log(5, 5)})
    assert saver(tmp_path, once).save([tail(0, 10)]).refused and once.rounds == 22


def test_requests_have_a_deadline_while_other_brokers_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[float | None] = []

    class Timed(Brokers):
        def log_starts(self, _work: Work) -> dict[int, dict[TopicPartition, int]]:
            ends.append(deadline.end())
            return {2: {KEY: 0}}

        def records(self, work: Work, partition_bytes: int, answer_bytes: int) -> Answers:
            ends.append(deadline.end())
            return super().records(work, partition_bytes, answer_bytes)

    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    other = ("t", 1)
    brokers = Timed({(KEY, 2): log(5, 5), (other, 3): log(5)})
    found = saver(tmp_path, brokers).save([tail(None, 10), tail(0, 5, 3, other)])
    assert len(found.complete) == 2
    assert ends == [1060.0, 1002.0, None], "where logs begin, the round of both, the one that is left"


def test_a_round_may_take_twice_the_seconds_of_its_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[float | None] = []

    class Timed(Brokers):
        def records(self, work: Work, partition_bytes: int, answer_bytes: int) -> Answers:
            ends.append(deadline.end())
            return super().records(work, partition_bytes, answer_bytes)

    class Paces(BrokerPaces):
        def seconds(self, brokers: Collection[int], waiting: Collection[int]) -> float | None:
            return 5.0

    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    assert TailSaver(Timed({(KEY, 2): log(5)}), tmp_path / "run", HEADER, Limits(), paces=Paces()).save([tail(0, 5)]).complete
    assert ends == [1010.0]


def test_only_the_first_partition_of_an_answer_shows_that_its_log_ends(tmp_path: Path) -> None:
    """A broker fills an answer in the order of the request. The others may get nothing, however much their logs have."""
    keys = [KEY, ("t", 1), ("t", 2)]
    brokers = Brokers({(key, 2): log(5, 5) for key in keys}, rounds=1)
    tails = [tail(0, 10, key=key) for key in keys]
    assert {*saver(tmp_path, brokers).save(tails).complete} == {*tails}
    for one in tails:
        assert saved_bytes(tmp_path, one) == log(5, 5)


def test_a_partition_that_the_answer_leaves_out_is_refused(tmp_path: Path) -> None:
    class Forgetful(Brokers):
        def records(self, work: Work, partition_bytes: int, answer_bytes: int) -> Answers:
            answers = super().records(work, partition_bytes, answer_bytes)
            return {broker: {key: one for key, one in answer.items() if key == KEY} for broker, answer in answers.items()}

    tails = [tail(0, 5), tail(0, 5, key=("t", 1))]
    found = saver(tmp_path, Forgetful({(one.key, 2): log(5) for one in tails})).save(tails)
    assert (found.complete, found.refused) == (tails[:1], {tails[1]: "broker 2 does not answer: no answer for this partition"})


def test_bytes_and_batches_of_this_run_are_counted(tmp_path: Path) -> None:
    brokers = Brokers({(KEY, 2): log(5, 5), (("t", 1), 2): log(5)})
    found = saver(tmp_path, brokers).save([tail(0, 10)])
    assert (found.size, found.batches, found.before) == (len(log(5, 5)), 2, [])
    again = saver(tmp_path, brokers).save([tail(0, 10), tail(0, 5, key=("t", 1))])
    assert (again.size, again.batches, again.before) == (len(log(5)), 1, [tail(0, 10)])


def test_what_is_damaged_is_named_apart_from_what_is_refused_otherwise(tmp_path: Path) -> None:
    def refused(brokers: Brokers, end: int = 5) -> tuple[bool, bool]:
        found = saver(tmp_path / str(len([*tmp_path.iterdir()])), brokers).save([tail(0, end)])
        return bool(found.refused), bool(found.damaged)

    assert refused(Brokers({(KEY, 2): log(5)})) == (False, False)
    assert refused(Brokers({}, silent={2})) == (True, False)
    assert refused(Brokers({}, errors={2: "OFFSET_OUT_OF_RANGE"})) == (True, False)
    assert refused(Brokers({}, errors={2: "KAFKA_STORAGE_ERROR"})) == (True, True)
    assert refused(Brokers({(KEY, 2): log(3, start=2)})) == (True, True)
    assert refused(Brokers({(KEY, 2): log(5)}), end=7) == (True, True)


@pytest.mark.parametrize(("states", "remedy"), [(True, "plan again"), (False, "run again")])
def test_a_log_that_lacks_the_offset_has_changed(tmp_path: Path, states: bool, remedy: str) -> None:
    brokers = Brokers({}, errors={2: "OFFSET_OUT_OF_RANGE"})
    found = TailSaver(brokers, tmp_path / "run", HEADER, Limits(), states=brokers if states else None).save([tail(3, 5)])
    assert found.refused == {tail(3, 5): f"its log does not have offset 3 any more: {remedy}"}


def test_a_slow_broker_that_is_quick_enough_is_read_to_its_end(tmp_path: Path) -> None:
    brokers = SlowBrokers({(KEY, 2): log(5), (("t", 1), 3): log(*[1] * 9)})
    tails = tail(0, 5), tail(0, 9, broker=3, key=("t", 1))
    found: Saved = saver(tmp_path, brokers, Limits(seconds=600.0)).save(tails)
    assert ({*found.complete}, found.refused) == ({*tails}, {})


@pytest.mark.parametrize("rate", [1, 4])
def test_pauses_for_the_rate_count_the_bytes_of_this_run_alone_and_are_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rate: int
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    waited: list[float] = []
    size = len(log(5))
    brokers = Brokers({(KEY, 2): log(5), (("t", 1), 2): log(5)})
    for number in range(2):
        one = TailSaver(
            brokers, tmp_path / "run", HEADER, Limits(bytes_per_second=rate), pause=waited.append, saved=Saved(size=number * 1000)
        )
        one.save([tail(0, 5, key=("t", number))])
        assert sum(waited) == pytest.approx((number + 1) * size / rate)
    assert {*waited} == {1.0, *({size / rate % 1} - {0.0})}


def test_no_time_is_none_however_coarse_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    brokers = Brokers({(KEY, 2): log(5)})
    assert saver(tmp_path, brokers, Limits(seconds=0.0)).save([tail(0, 5)]).refused and brokers.rounds == 0
    assert saver(tmp_path, brokers, Limits(seconds=0.5)).save([tail(0, 5)]).complete


def test_limits_allow_as_many_bytes_as_they_name(tmp_path: Path) -> None:
    logs = {(KEY, 2): log(5), (("t", 1), 2): log(5)}
    tails, size = [tail(0, 5), tail(0, 5, key=("t", 1))], len(log(5))
    for limits in (
        *(Limits(cluster_bytes=2 * size + more) for more in (0, 1)),
        *(Limits(partition_bytes=size + more) for more in (0, 1)),
        *(Limits(run_bytes=2 * size + more) for more in (0, 1)),
    ):
        folder = tmp_path / str(len([*tmp_path.iterdir()]))
        assert {*saver(folder, Brokers(logs), limits).save(tails).complete} == {*tails}


def test_the_pace_of_a_broker_counts_the_offsets_of_each_answer(tmp_path: Path) -> None:
    counted: list[tuple[int, int]] = []

    class Paces(BrokerPaces):
        def add(self, broker: int, offsets: int) -> None:
            counted.append((broker, offsets))

    brokers = Brokers({(KEY, 2): log(5, 3), (("t", 1), 2): log(2)})
    TailSaver(brokers, tmp_path / "run", HEADER, Limits(), paces=Paces()).save([tail(0, 8), tail(0, 2, key=("t", 1))])
    assert counted == [(2, 7), (2, 3)]


class Unlimited(BrokerPaces):
    """Rounds without a limit of time."""

    def seconds(self, brokers: Collection[int], waiting: Collection[int]) -> float | None:
        return None


class ThrottlesOnce(Brokers):
    def records(self, work: Work, partition_bytes: int, answer_bytes: int) -> Answers:
        answers = super().records(work, partition_bytes, answer_bytes)
        return {**answers, 3: {}} if self.rounds == 1 else answers


@pytest.mark.parametrize(
    ("kind", "paces", "rounds"), [(SlowBrokers, BrokerPaces(), 3), (ThrottlesOnce, BrokerPaces(), 2), (Brokers, Unlimited(), 2)]
)
def test_answers_of_a_round_count_whatever_its_first_broker_answers(
    tmp_path: Path, kind: type[Brokers], paces: BrokerPaces, rounds: int
) -> None:
    """Broker 3 is the first, because its tail is the shorter one."""
    brokers = kind({(KEY, 2): log(5, 5), (("t", 1), 3): log(1)}, silent={3} if kind is Brokers else ())
    tails = tail(0, 10), tail(0, 1, 3, ("t", 1))
    found = TailSaver(brokers, tmp_path / "run", HEADER, Limits(), paces=paces).save(tails)
    assert {*found.complete, *found.refused} == {*tails} and tails[0] in found.complete
    assert brokers.rounds == rounds
