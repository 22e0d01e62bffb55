"""The judges: pure functions over what was observed. They know what brokers' logs hold and what was acknowledged, and nothing of the rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.keys import missing
from chaos.ledger import ALL, Acknowledged
from chaos.logs import Log, end, values
from rig import PartitionState
from rig.admin import TopicPartition

Promises = Mapping[str, Acknowledged]
States = Mapping[TopicPartition, PartitionState]
# What a bound of the loss rests on where it is not known.
NOTHING = {"lower_bound": "none", "upper_bound": "unknown", "estimate": "none"}
# What may hold a partition when every broker that can come back is there and answers.
STANDING = ("forked", "forked_proven", "below_high_watermark")
NO_SURVIVOR = "no_survivor"


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
    """What the others hold and the leader's log lacks: values acknowledged by all in-sync replicas ("all"), by a leader alone ("1"), by no broker ("")."""
    lost: dict[str, set[str]] = {ALL: set(), "1": set(), "": set()}
    for value in missing(set().union(*map(values, others)), values(leader)):
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


def within_bounds(
    key: TopicPartition,
    row: Mapping[str, Any],
    leader: Log,
    others: Iterable[Log],
    promises: Promises,
    lost_before: Collection[str] = (),
    unflushed: Collection[str] = (),
    ended: int = 0,
) -> list[Violation]:
    """What is really lost by an election lies within the bounds that its plan states.

    The bounds speak of committed offsets, and no test can look at all of them. What was acknowledged by all in-sync replicas, or read, is committed:
    of that no more may be lost than the upper bound. What a survivor held or anybody acknowledged is all that can be known to be gone: it may
    not be less than the lower bound. Offsets are counted: retries write a value at several, and beyond the leader's end each offset before a known
    one is gone, whether its record was acknowledged or is the marker of a transaction.
    `lost_before`: values that an earlier election had lost: no later one can lose them again.
    `unflushed`: values that a replica lost in a power cut. No upper bound counts them (docs/loss.md).
    `ended`: transactions that were ended in the partition; each may have left a marker that only a lost broker had.
    """
    loss = row["loss"]
    committed = missing({value for value, promise in promises.items() if promise.acks == ALL}, values(leader)) - {*lost_before, *unflushed}
    here = {(record.offset, record.value) for record in leader}
    known = {(record.offset, record.value) for log in others for record in log} | {
        (promise.offset, value) for value, promise in promises.items() if value not in lost_before
    }
    gone = {offset for offset, _ in known - here}
    gone |= {*range(end(leader), max(gone, default=-1) + 1)}
    lower, upper, estimate = loss["lower_bound"], loss["upper_bound"], loss["estimate"]
    found = []
    if (lower or 0) > len(gone) + ended:
        found.append(Violation("loss is overstated", name(key), f"at least {lower} said to be lost, {len(gone)} are: {row}"))
    if upper is not None and upper < len(committed):
        text = f"at most {upper} said to be lost, {len(committed)} are, for example {min(committed)}: {row}"
        found.append(Violation("loss is understated", name(key), text))
    if estimate is not None and not (lower or 0) <= estimate <= (estimate if upper is None else upper):
        found.append(Violation("the estimate lies outside its bounds", name(key), str(loss)))
    if any((loss[bound] is None) != (loss[f"{bound}_from"] == nothing) for bound, nothing in NOTHING.items()):
        found.append(Violation("a bound does not say what it rests on", name(key), str(loss)))
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
    """No open intent, and no temporary file but those of our processes that were killed (at most one each). A lock file stays, for the next run."""
    found = [Violation("the journal stays open", name(key), str(workdir)) for key in sorted(journalled)]
    hidden = sorted(path for path in workdir.rglob(".*") if path.is_file() and path.name != ".lock")
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
        reason = result.get("reason_code") if result.get("outcome") == "held" else None
        stands = reason in STANDING or (reason == NO_SURVIVOR and {*state.replicas} <= {*state.offline_replicas})
        if state.leader < 0 and not stands:
            open_ends[key] = f"{result.get('outcome', 'no result')}: {result.get('reason') or ''}"
    return open_ends


def speaks(module: str, returncode: int, msg: str, stderr: str) -> list[Violation]:
    """A module that fails says why in one sentence; a traceback is no reason."""
    if returncode in (0, -9) or (msg and "Traceback" not in stderr + msg):
        return []
    return [Violation("a module fails without words", module, f"exit code {returncode}: {msg} {stderr[-400:]}")]
