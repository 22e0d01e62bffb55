"""The judges: pure functions over what was observed. They know what brokers' logs hold and what was acknowledged, and nothing of the rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.ledger import ALL, Acknowledged
from chaos.logs import Log, end, values
from rig import PartitionState
from rig.admin import TopicPartition

Promises = Mapping[str, Acknowledged]
States = Mapping[TopicPartition, PartitionState]
# What may hold a partition when every broker that can come back is there and answers.
STANDING = ("forked", "forked_proven", "below_high_watermark", "no_survivor")


@dataclass(frozen=True)
class Violation:
    """A judge's finding against the recovery. `place`: a partition or a file."""

    judge: str
    place: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.judge}: {self.place}: {self.evidence}"


def name(key: TopicPartition) -> str:
    """topic-partition."""
    return f"{key[0]}-{key[1]}"


def lost_to(leader: Log, others: Iterable[Log], promises: Promises) -> dict[str, set[str]]:
    """What the others hold and the leader's log lacks: values acknowledged by all in-sync replicas ("all"), by a leader alone ("1"), by nobody ("")."""
    missing = set().union(*map(values, others)) - values(leader)
    lost: dict[str, set[str]] = {ALL: set(), "1": set(), "": set()}
    for value in missing:
        lost[promises[value].acks if value in promises else ""].add(value)
    return lost


def keeps_what_survivors_held(
    key: TopicPartition, elected: int, logs: Mapping[int, Log], promises: Promises, evidence: str
) -> list[Violation]:
    """No acknowledged record may be lost that a live survivor held. `logs`: of every replica alive at the election, the elected one's among them.

    Evidence `prefix` promises more: that every survivor's log is part of the winner's, acknowledged or not.
    """
    lost = lost_to(logs[elected], logs.values(), promises)
    levels = (ALL, "1", "") if evidence == "prefix" else (ALL,)
    ends = {broker: (log[-1].epoch if log else -1, end(log)) for broker, log in logs.items()}
    return [
        Violation(
            "a survivor's records are lost",
            name(key),
            f"broker {elected} was elected on evidence {evidence}; survivors' last epochs and ends {ends}; "
            f"{len(lost[level])} records with acks={level or 'none'} are lost, for example {min(lost[level])}",
        )
        for level in levels
        if lost[level]
    ]


def within_bounds(key: TopicPartition, row: Mapping[str, Any], leader: Log, others: Iterable[Log], promises: Promises) -> list[Violation]:
    """A stated loss: at least the lower bound is really lost, at most the upper one where there is one.

    What is really lost: of the records that a survivor held or that were acknowledged, those that the leader lacks.
    """
    bounds = row["loss"]
    committed = {value for value, promise in promises.items() if promise.acks == ALL} - values(leader)
    known = {*promises} | set().union(*map(values, others))
    gone = known - values(leader)
    found = []
    if bounds["lower_bound"] is not None and bounds["lower_bound"] > len(gone):
        found.append(
            Violation("loss is overstated", name(key), f"at least {bounds['lower_bound']} said to be lost, {len(gone)} are: {row}")
        )
    if bounds["upper_bound"] not in (None, "unknown") and int(bounds["upper_bound"]) < len(committed):
        found.append(
            Violation("loss is understated", name(key), f"at most {bounds['upper_bound']} said to be lost, {len(committed)} are: {row}")
        )
    return found


def left_alone(before: States, after: States, written: Collection[TopicPartition], disturbed: Collection[int]) -> list[Violation]:
    """Partitions that had a leader keep it and its epoch, also where we named them (`written`) because the leader was there later than the guards.

    `disturbed`: brokers that a fault took away: what they led moves without us.
    """
    found = []
    for key, state in before.items():
        if state.leader < 0 or state.leader in disturbed or key not in written:
            continue
        now = after[key]
        if (now.leader, now.leader_epoch) != (state.leader, state.leader_epoch):
            found.append(Violation("an online partition was touched", name(key), f"{state} became {now}"))
    return found


def same_orders(before: States, after: States, journalled: Collection[TopicPartition] = ()) -> list[Violation]:
    """Replica orders are as they were; while a run is cut short, what is not must stand in the journal."""
    return [
        Violation("a replica order stayed changed", name(key), f"{state.replicas} became {after[key].replicas}")
        for key, state in before.items()
        if after[key].replicas != state.replicas and key not in journalled
    ]


def says_what_is_left(journalled: Collection[TopicPartition], warnings: Collection[str]) -> list[Violation]:
    """A run that comes to its end with its journal open says so: another run is needed."""
    if not journalled or any("replica order" in warning for warning in warnings):
        return []
    return [Violation("the journal stays open without a word", name(min(journalled)), str(warnings))]


def nothing_left(workdir: Path, killed: int, journalled: Collection[TopicPartition]) -> list[Violation]:
    """No open intent, and no temporary file but those of our processes that were killed (at most one each)."""
    found = [Violation("the journal stays open", name(key), str(workdir)) for key in sorted(journalled)]
    hidden = sorted(path for path in workdir.rglob(".*") if path.is_file())
    if len(hidden) > killed:
        found.append(Violation("temporary files are left", str(hidden[0]), f"{len(hidden)} files, {killed} processes were killed"))
    return found


def changed_nothing(changed: bool, writing: Collection[str], before: States, after: States) -> list[Violation]:
    """A run that finds everything done says so, asks for nothing, and moves nothing."""
    found = []
    if changed:
        found.append(Violation("the second run says changed", "", ""))
    if writing:
        found.append(Violation("the second run writes", "", ", ".join(sorted(writing))))
    moved = [key for key in before if (before[key].leader, before[key].leader_epoch) != (after[key].leader, after[key].leader_epoch)]
    return found + [Violation("the second run moved a leader", name(key), f"{before[key]} became {after[key]}") for key in moved]


def settled(states: States, results: Mapping[TopicPartition, Mapping[str, Any]]) -> dict[TopicPartition, str]:
    """What is neither online nor held for a reason that stands when all is calm: partition → what is said of it. Empty when all is well."""
    open_ends = {}
    for key, state in states.items():
        result = results.get(key, {})
        reason = str(result.get("reason") or "")
        if state.leader < 0 and not (result.get("outcome") == "held" and reason.partition(":")[0] in STANDING):
            open_ends[key] = f"{result.get('outcome', 'no result')}: {reason}"
    return open_ends


def speaks(module: str, returncode: int, msg: str, stderr: str) -> list[Violation]:
    """A module that fails says why in one sentence; a traceback is no reason."""
    if returncode in (0, -9) or (msg and "Traceback" not in stderr + msg):
        return []
    return [Violation("a module fails without words", module, f"exit code {returncode}: {msg} {stderr[-400:]}")]
