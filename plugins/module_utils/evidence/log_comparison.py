# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of logs: is one a prefix of the other, or at which offset do they fork? Decided by Kafka's own log matching (KIP-101, KIP-279, KIP-320).

An epoch has one leader, and followers copy its log. So two logs that have one offset from one epoch are equal below it, whatever compaction has
removed since. Only the cleaner of a compacted topic removes records between others: a gap in the log of another topic makes the relation unknown.
Where the batches are still there, they show the epoch. Elsewhere brokers know where each epoch ends in their logs: that is what a
follower asks its leader for before it truncates its log. All pairs are asked for side by side, so the number of rounds does not grow with them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    CORRUPT,
    FORKED,
    PREFIX,
    SAME,
    UNKNOWN,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch, may_be_equal

if TYPE_CHECKING:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import Replicas
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog

Probe = tuple[int, TopicPartition, int]
Ask = Callable[..., Mapping[int, Mapping[TopicPartition, Any]]]
# The most epoch ends that one pair may need. Each step is an epoch that one log has and the other lacks.
MOST_STEPS = 64
_UNCOMPACTED = "and cleanup.policy of the topic is not known to include compact"
NOT_COMPARED = "the logs of brokers {} and {} were not compared to the end, because no time was left; raise duration"


class Prober:
    """Fetches batches at offsets and remembers them. `found`: (broker, partition, offset) → batch, None where none came."""

    def __init__(self, batches: Ask) -> None:
        self._batches = batches
        self.found: dict[Probe, LastBatch | None] = {}

    def fetch(self, probes: Iterable[Probe]) -> None:
        """Fetch what is not known yet. When the caller's deadline has passed the rest is left, and is not in `found`."""
        for layer in _layers(probe for probe in probes if probe not in self.found):
            if deadline.has_passed():
                return
            for probe, answer in _answers(layer, self._batches(layer)):
                self.found[probe] = answer.batch if answer is not None and answer.error is None else None


def _layers(probes: Iterable[Probe]) -> Iterator[dict[int, dict[TopicPartition, int]]]:
    """Yield requests. One has one number per partition, so several numbers for one replica follow each other, the greatest first."""
    wanted: dict[tuple[int, TopicPartition], list[int]] = {}
    for broker, key, number in sorted(set(probes), reverse=True):
        wanted.setdefault((broker, key), []).append(number)
    for place in range(max(map(len, wanted.values()), default=0)):
        layer: dict[int, dict[TopicPartition, int]] = {}
        for (broker, key), numbers in wanted.items():
            if place < len(numbers):
                layer.setdefault(broker, {})[key] = numbers[place]
        yield layer


def _answers(
    layer: Mapping[int, Mapping[TopicPartition, int]], answers: Mapping[int, Mapping[TopicPartition, Any]]
) -> Iterator[tuple[Probe, Any]]:
    for broker, numbers in layer.items():
        for key, number in numbers.items():
            yield (broker, key, number), answers.get(broker, {}).get(key)


class _BatchAt(NamedTuple):
    """The batch at an offset of a broker's log, or the next one that compaction has left. The answer is a LastBatch or None."""

    broker: int
    key: TopicPartition
    offset: int


class _EndOf(NamedTuple):
    """Where an epoch, or the greatest one below it, ends in a broker's log. The answer is an EpochEnd or None."""

    broker: int
    key: TopicPartition
    epoch: int


class _Verdict(NamedTuple):
    """The result of one comparison: the fields of a pair row that `settle` fills in."""

    relation: str
    shorter: int | None = None
    common_offset: int | None = None
    reason: str | None = None


class _UndecidedError(Exception):
    """Why the relation of two logs is not known."""


class _Side:
    """One of the two logs, which is not empty."""

    def __init__(self, broker: int, log: ReplicaLog) -> None:
        last = log.last_batch
        if last is None:
            raise _UndecidedError(f"the last batch of broker {broker} could not be read")
        self.broker, self.last = broker, last
        self.start, self.end = log.log_start_offset or 0, log.log_end_offset or 0
        # No epoch below the last one ends beyond this offset.
        self.bound = last.base_offset
        if not 0 <= last.base_offset <= last.last_offset == self.end - 1 or last.epoch < 0:
            raise _UndecidedError(f"the log of broker {broker} ends at offset {self.end} {_with(last)}")

    def check_batch(self, batch: LastBatch | None, offset: int) -> LastBatch:
        """Return the broker's answer for the batch at an offset, if it can be one."""
        if batch is None:
            raise _UndecidedError(f"broker {self.broker} gives no batch at offset {offset}, nor behind it")
        if not (
            0 <= batch.base_offset <= batch.last_offset and offset <= batch.last_offset < self.end and 0 <= batch.epoch <= self.last.epoch
        ):
            raise _UndecidedError(
                f"broker {self.broker}, whose log ends at offset {self.end} in leader epoch {self.last.epoch}, answers for offset {offset} {_with(batch)}"
            )
        return batch

    def check_end(self, answer: Any, asked: int) -> tuple[int, int]:
        """Return epoch and end offset from the broker's answer for an epoch below its last one, if it can be one."""
        where = f"broker {self.broker}, asked where leader epoch {asked} ends in its log,"
        if answer is None:
            raise _UndecidedError(f"{where} does not answer")
        if answer.error is not None:
            raise _UndecidedError(f"{where} answers {answer.error}")
        if answer.epoch is None or answer.end_offset is None:
            raise _UndecidedError(f"{where} answers with something else")
        # Of what was deleted from its beginning a log knows nothing: epochs up to there end where it begins.
        if not (0 <= answer.epoch <= asked and 0 <= answer.end_offset <= max(self.bound, self.start)):
            raise _UndecidedError(
                f"{where} answers that epoch {answer.epoch} ends at offset {answer.end_offset}, which contradicts its batches"
            )
        self.bound = answer.end_offset
        return answer.epoch, answer.end_offset


def _with(batch: LastBatch) -> str:
    return f"with a batch of offsets {batch.base_offset} to {batch.last_offset} in leader epoch {batch.epoch}"


def pair_row(key: TopicPartition, broker_a: int, broker_b: int) -> dict[str, Any]:
    """A pair whose relation is yet to be settled."""
    return {
        "topic": key[0],
        "partition": key[1],
        "broker_a": broker_a,
        "broker_b": broker_b,
        "relation": None,
        "shorter": None,
        "common_offset": None,
        "reason": None,
    }


_Comparison = Generator[_BatchAt | _EndOf, Any, _Verdict]


def settle(pairs: Iterable[dict[str, Any]], replicas: Replicas, prober: Prober, epoch_ends: Ask, compacted: Collection[str]) -> int:
    """Fill in `relation`, `shorter`, `common_offset` and `reason` of every pair, in place.

    Returns how many pairs were not compared to the end before the caller's deadline. Their relation is unknown.

    epoch_ends  as Cluster has it
    compacted   the topics whose cleanup.policy is known to include compact
    """
    ends: dict[Probe, Any] = {}
    waiting: list[tuple[dict[str, Any], _Comparison, _BatchAt | _EndOf]] = []

    def go_on(pair: dict[str, Any], comparison: _Comparison, answer: Any) -> None:
        try:
            waiting.append((pair, comparison, comparison.send(answer)))
        except StopIteration as done:
            _settle(pair, done.value)
        except _UndecidedError as error:
            _settle(pair, _Verdict(UNKNOWN, reason=str(error)))

    for pair in pairs:
        go_on(pair, _compared(pair, replicas, pair["topic"] in compacted), None)
    while waiting:
        if deadline.has_passed():
            for pair, _, _ in waiting:
                _settle(pair, _Verdict(UNKNOWN, reason=NOT_COMPARED.format(pair["broker_a"], pair["broker_b"])))
            return len(waiting)
        # Batches first: what they leave open is then asked for together with the rest.
        kind = _BatchAt if any(isinstance(question, _BatchAt) for _, _, question in waiting) else _EndOf
        questions = [question for _, _, question in waiting if isinstance(question, kind)]
        if kind is _BatchAt:
            prober.fetch(questions)
        else:
            for layer in _layers(question for question in questions if question not in ends):
                ends.update(_answers(layer, epoch_ends(layer)))
        answers: Mapping[Probe, Any] = prober.found if kind is _BatchAt else ends
        asked, waiting[:] = list(waiting), []
        for pair, comparison, question in asked:
            if isinstance(question, kind) and question in answers:
                go_on(pair, comparison, answers[question])
            else:
                waiting.append((pair, comparison, question))
    return 0


def _settle(pair: dict[str, Any], verdict: _Verdict) -> None:
    pair["relation"], pair["shorter"], pair["common_offset"], pair["reason"] = verdict


def _compared(pair: Mapping[str, Any], replicas: Replicas, compacted: bool) -> _Comparison:
    """Compare the logs of one pair: yield questions for the brokers, return the verdict."""
    key = pair["topic"], pair["partition"]
    first, second = pair["broker_a"], pair["broker_b"]
    long, short = replicas[key, first], replicas[key, second]
    one, other = _length(long), _length(short)
    if other < one:
        first, second, long, short = second, first, short, long
    if short.empty:
        return _prefix(None if one == other else second, short.log_end_offset or 0)
    longer, shorter = _Side(first, long), _Side(second, short)
    end, epoch = shorter.end, shorter.last.epoch
    if longer.start >= end:
        raise _UndecidedError(
            f"broker {second}'s log ends at offset {end}, and all that broker {first} had below offset {longer.start} was deleted"
        )
    if longer.last.epoch < epoch:
        # Epochs never decrease along a log, so the longer one has nothing of this epoch.
        _, common = yield from _last_shared(key, longer, shorter)
        return _forked(longer, shorter, common)
    at = end - 1
    batch = longer.last if longer.end == end else longer.check_batch((yield _BatchAt(first, key, at)), at)
    if not compacted:
        _check_uncleaned(longer, shorter, batch, at)
    if batch.epoch == epoch:
        if batch.holds(at) and not may_be_equal(batch, shorter.last):
            reason = f"brokers {first} and {second} have different bytes at offset {at} from one leader epoch, {epoch}"
            return _Verdict(CORRUPT, reason=reason)
        return _prefix(None if longer.end == end else second, end)
    if batch.epoch > epoch:
        longer.bound = batch.base_offset
    _, common = yield from _last_shared(key, longer, shorter)
    if batch.holds(at) or batch.epoch < epoch or common < end:
        return _forked(longer, shorter, common)
    # Compaction has removed what the longer log had at this offset, and the next batch is of a later epoch: the ends of epochs alone speak. A broker
    # that does not know an epoch, because all that it knows are later ones, answers as if it did: then the one before ends at the same offset.
    if epoch > 0 and longer.check_end((yield _EndOf(first, key, epoch - 1)), epoch - 1)[1] >= end:
        raise _UndecidedError(f"broker {first} does not know leader epoch {epoch}, and what it had at offset {at} was compacted")
    return _prefix(second, end)


def _check_uncleaned(longer: _Side, shorter: _Side, batch: LastBatch, at: int) -> None:
    """Refuse to explain by compaction what stands in the log of a topic that is not compacted."""
    if not batch.holds(at):
        raise _UndecidedError(f"broker {longer.broker} has no record at offset {at}, {_UNCOMPACTED}")
    last = shorter.last
    if batch[:3] == last[:3] and batch.crc != last.crc and may_be_equal(batch, last):
        raise _UndecidedError(
            f"brokers {longer.broker} and {shorter.broker} have different bytes at offset {at}, as the cleaner leaves them, {_UNCOMPACTED}"
        )


def _length(log: ReplicaLog) -> tuple[int, bool]:
    """Sort key, longest first; of two logs with one end the empty one (everything in it was deleted) counts as the shorter."""
    return -(log.log_end_offset or 0), log.empty


def _prefix(shorter: int | None, end: int) -> _Verdict:
    return _Verdict(SAME if shorter is None else PREFIX, shorter, end)


def _forked(longer: _Side, shorter: _Side, common: int) -> _Verdict:
    if common >= shorter.end:
        raise _UndecidedError(
            f"leader epochs of brokers {longer.broker} and {shorter.broker} say that the logs are equal below offset {shorter.end}, their batches that "
            "they are not"
        )
    # What was deleted from the beginning of a log is not compared.
    return _Verdict(FORKED, common_offset=max(common, longer.start, shorter.start))


def _last_shared(key: TopicPartition, one: _Side, other: _Side) -> Generator[_EndOf, Any, tuple[int, int]]:
    """Return the greatest epoch that both logs have, and where the first of the two leaves it: up to there they are equal (KIP-279)."""
    ends = {side: (side.last.epoch, side.end) for side in (one, other)}
    for _step in range(MOST_STEPS):
        behind, ahead = sorted(ends, key=lambda side: ends[side][0])
        epoch = ends[behind][0]
        if ends[ahead][0] == epoch:
            return epoch, min(end for _epoch, end in ends.values())
        ends[ahead] = ahead.check_end((yield _EndOf(ahead.broker, key, epoch)), epoch)
    raise _UndecidedError(f"the logs of brokers {one.broker} and {other.broker} differ in more than {MOST_STEPS} leader epochs")
