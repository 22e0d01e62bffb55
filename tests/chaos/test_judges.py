"""The judges find what they are there for: on logs written by hand, each decision that loses something is distinguished from one that does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaos import judge, rivals
from chaos.ledger import Acknowledged
from chaos.logs import Log, Record, has_gaps
from rig import PartitionState

KEY = ("t", 0)
REPLICAS = (1, 3, 2)


def log(*values: str, epochs: dict[str, int]) -> Log:
    return tuple(Record(offset, epochs[value], value) for offset, value in enumerate(values))


# Broker 3 wrote two records alone in epoch 0 and died; broker 2 got one that was acknowledged by all in epoch 1.
EPOCHS = {"a": 0, "b": 0, "alone-1": 0, "alone-2": 0, "committed": 1}
FORKED = {2: log("a", "b", "committed", epochs=EPOCHS), 3: log("a", "b", "alone-1", "alone-2", epochs=EPOCHS)}
# The history of Raft's figure 8: the later epoch was never committed, the longer log of the earlier one was.
FIGURE_8 = {2: log("a", "b", "committed", epochs=EPOCHS), 3: log("a", "b", "alone-1", epochs={**EPOCHS, "alone-1": 2})}
PREFIX = {2: log("a", "b", "committed", epochs=EPOCHS), 3: log("a", "b", epochs=EPOCHS)}
PROMISES = {
    "a": Acknowledged(0, "all"),
    "b": Acknowledged(1, "all"),
    "committed": Acknowledged(2, "all"),
    "alone-1": Acknowledged(2, "1"),
    "gone with broker 1": Acknowledged(3, "all"),
}


def state(leader: int, epoch: int = 4, replicas: tuple[int, ...] = REPLICAS) -> PartitionState:
    return PartitionState("t", 0, leader, epoch, replicas, (), (1,), (), ())


@pytest.mark.parametrize(
    ("rule", "logs", "loses"),
    [
        ("LEO only", FORKED, True),
        ("(epoch, LEO)", FORKED, False),
        ("stock", FORKED, True),
        ("(epoch, LEO)", FIGURE_8, True),
        ("LEO only", PREFIX, False),
        ("stock", PREFIX, True),
    ],
)
def test_a_rule_that_destroys_a_committed_record_of_another_survivor_is_found_out(rule: str, logs: dict[int, Log], loses: bool) -> None:
    elected = rivals.RULES[rule](REPLICAS, logs)
    found = judge.keeps_what_survivors_held(KEY, elected, logs, PROMISES, "forked")
    assert bool(found) == loses
    assert rivals.cost(elected, logs, PROMISES, ["all"]) == (int(loses), 1 + int(loses))


def test_the_evidence_prefix_promises_every_record() -> None:
    assert not judge.keeps_what_survivors_held(KEY, 2, PREFIX, PROMISES, "prefix")
    levels = [violation.evidence for violation in judge.keeps_what_survivors_held(KEY, 2, FORKED, PROMISES, "prefix")]
    assert len(levels) == 2, "one record that a leader alone acknowledged, one that no replica did"


def stated(lower: int | None, upper: int | None, estimate: int | None = None) -> dict[str, Any]:
    sources = {
        "lower_bound_from": "none" if lower is None else "high_watermark",
        "upper_bound_from": "unknown" if upper is None else "isr_history",
    }
    guess = {"estimate": estimate, "estimate_from": "none" if estimate is None else "healthy_snapshot"}
    return {"lower_bound": lower, "upper_bound": upper, **sources, **guess}


@pytest.mark.parametrize(
    ("lower", "upper", "judges"),
    [
        (0, None, []),
        (2, None, []),
        (3, None, ["loss is overstated"]),
        (None, 1, []),
        (None, 0, ["loss is understated"]),
        (1, 1, []),
        (3, 0, ["loss is overstated", "loss is understated"]),
    ],
)
def test_stated_losses_are_compared_with_real_ones(lower: int | None, upper: int | None, judges: list[str]) -> None:
    # Broker 2 leads: offsets 2 and 3 are lost on another branch or with broker 1; what stood at offset 3 there had been acknowledged by all.
    found = judge.within_bounds(KEY, {"loss": stated(lower, upper)}, FORKED[2], FORKED.values(), PROMISES)
    assert [violation.judge for violation in found] == judges


def test_nothing_is_lost_twice() -> None:
    gone = {"gone with broker 1"}
    assert not judge.within_bounds(KEY, {"loss": stated(None, 0)}, FORKED[2], FORKED.values(), PROMISES, gone)
    assert judge.within_bounds(KEY, {"loss": stated(3, None)}, FORKED[2], FORKED.values(), PROMISES, gone)


def test_no_upper_bound_counts_what_a_power_cut_took() -> None:
    assert judge.within_bounds(KEY, {"loss": stated(None, 0)}, FORKED[2], FORKED.values(), PROMISES)
    assert not judge.within_bounds(KEY, {"loss": stated(None, 0)}, FORKED[2], FORKED.values(), PROMISES, unflushed={"gone with broker 1"})


def test_markers_of_transactions_are_lost_offsets_too() -> None:
    # Offset 3 is lost with its record, offset 4 perhaps with the marker of a transaction.
    for ended, found in ((0, 1), (1, 0)):
        assert len(judge.within_bounds(KEY, {"loss": stated(3, None)}, FORKED[2], FORKED.values(), PROMISES, ended=ended)) == found
    marker = Record(5, 0, "")
    assert not judge.within_bounds(KEY, {"loss": stated(4, None)}, FORKED[2], [*FORKED.values(), (*FORKED[3], marker)], PROMISES)


def test_what_the_cleaner_may_remove_is_not_lost() -> None:
    cleaned = {2: (Record(0, 0, "1/a/all#x"), Record(5, 0, "6/b/all#y")), 3: (Record(1, 0, "2/a/all#y"), Record(2, 0, "3/a/all#z"))}
    promises = {record.value: Acknowledged(record.offset, "all") for log in cleaned.values() for record in log}
    (violation,) = judge.keeps_what_survivors_held(KEY, 2, cleaned, promises, "forked_resolved")
    assert "1 records with acks=all are lost, for example 3/a/all#z" in violation.evidence
    assert rivals.cost(2, cleaned, promises, ["all"]) == (1, 1)
    assert has_gaps(cleaned[2]) and has_gaps(cleaned[3]) and not has_gaps(FORKED[3]) and not has_gaps(())


@pytest.mark.parametrize(("estimate", "found"), [(0, 1), (1, 0), (2, 0), (3, 1)])
def test_an_estimate_lies_between_its_bounds(estimate: int, found: int) -> None:
    assert len(judge.within_bounds(KEY, {"loss": stated(1, 2, estimate)}, FORKED[2], FORKED.values(), PROMISES)) == found


@pytest.mark.parametrize("source", ["lower_bound_from", "upper_bound_from", "estimate_from"])
def test_a_bound_says_what_it_rests_on(source: str) -> None:
    nothing = {"lower_bound_from": "none", "upper_bound_from": "unknown", "estimate_from": "none"}[source]
    loss = {**stated(0, 1, 1), source: nothing}
    (violation,) = judge.within_bounds(KEY, {"loss": loss}, FORKED[2], FORKED.values(), PROMISES)
    assert violation.judge == "a bound does not say what it rests on"


def test_a_leader_that_was_there_must_stay() -> None:
    before, moved = {KEY: state(3)}, {KEY: state(2, epoch=5)}
    assert judge.left_alone(before, moved, {KEY}, disturbed=())
    assert not judge.left_alone(before, moved, (), disturbed=()), "no operator of ours named it"
    assert not judge.left_alone(before, moved, {KEY}, disturbed={3})
    assert not judge.left_alone({KEY: state(-1)}, moved, {KEY}, disturbed=())


def test_an_order_may_stand_changed_only_while_the_journal_knows() -> None:
    before, after = {KEY: state(-1)}, {KEY: state(2, replicas=(2, 3, 1))}
    assert judge.same_orders(before, after)
    assert not judge.same_orders(before, after, journalled={KEY})
    assert not judge.same_orders(before, {KEY: state(2)})


def test_an_open_journal_needs_a_word() -> None:
    assert judge.says_what_is_left({KEY}, ["something else"])
    assert not judge.says_what_is_left({KEY}, ["1 partitions still have the replica order of an election"])
    assert not judge.says_what_is_left((), [])


def test_what_is_left_in_the_workdir_is_found(tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / ".east.json.abc").touch()
    assert judge.nothing_left(tmp_path, killed=0, journalled=())
    assert not judge.nothing_left(tmp_path, killed=1, journalled=())
    assert judge.nothing_left(tmp_path, killed=1, journalled={KEY})


def test_a_second_run_must_neither_write_nor_move_nor_say_so() -> None:
    calm = {KEY: state(2)}
    assert not judge.changed_nothing(False, (), calm, calm)
    assert judge.changed_nothing(True, (), calm, calm)
    assert judge.changed_nothing(False, ["ElectLeaders"], calm, calm)
    assert judge.changed_nothing(False, (), calm, {KEY: state(2, epoch=5)})


@pytest.mark.parametrize(
    ("leader", "result", "settled"),
    [
        (2, {}, True),
        (-1, {}, False),
        (-1, {"outcome": "held", "reason_code": "forked", "reason": "broker 3's log parts"}, True),
        (-1, {"outcome": "held", "reason_code": "incomplete", "reason": "broker 3 did not answer"}, False),
        (-1, {"outcome": "stale", "reason_code": "forked"}, False),
    ],
)
def test_offline_partitions_need_a_reason_that_stands(leader: int, result: dict[str, str], settled: bool) -> None:
    assert bool(judge.settled({KEY: state(leader)}, {KEY: result})) != settled


@pytest.mark.parametrize(("offline", "settled"), [((), False), ((1, 2), False), ((1, 2, 3), True)])
def test_a_partition_has_a_survivor_once_one_of_its_brokers_is_back(offline: tuple[int, ...], settled: bool) -> None:
    held = {"outcome": "held", "reason_code": "no_survivor", "reason": "no broker of it is alive"}
    assert bool(judge.settled({KEY: replace(state(-1), offline_replicas=offline)}, {KEY: held})) != settled


def test_a_traceback_is_no_reason() -> None:
    assert not judge.speaks("m", 1, "broker 3 does not answer", "")
    assert not judge.speaks("m", -9, "", "")
    assert judge.speaks("m", 1, "", "Traceback (most recent call last)")
    assert judge.speaks("m", 1, "broker 3 does not answer", "Traceback (most recent call last)")
