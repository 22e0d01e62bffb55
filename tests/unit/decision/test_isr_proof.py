# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an ISR history proves, and each reason for which it proves nothing."""

from __future__ import annotations

from typing import Any

import pytest
from evidence_documents import evidence
from partition_situations import FENCED, Situation, history
from partition_situations import Log as MadeUpLog

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.isr_proof import IsrProof

START = 1_795_000_000_000  # when the first change of `partition_situations.history` happened
COMMITTED, LATER = MadeUpLog.of((15, 0)), MadeUpLog.of((10, 0), (3, 1))
# Broker 3 led and died, 2 and 1 went on, 1 left, 2 died.
PAST: tuple[dict[str, Any], ...] = (
    {"leader": 3, "isr": [1, 2, 3]}, {"isr": [2, 3]}, {"leader": 2, "isr": [2]}, {"isr": [1, 2]}, {"isr": [2]}, {"leader": -1, "isr": []},
)  # fmt: skip
# Both left in one change: each of them had everything.
TOGETHER: tuple[dict[str, Any], ...] = ({"leader": 2, "isr": [1, 2, 3]}, {"isr": [2]}, {"leader": -1, "isr": []})
PROVEN: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "one": (history(*PAST), (1,)),
    "both": (history(*TOGETHER), (1, 3)),
    # Without eligible leader replicas the last member stays in the ISR.
    "last-stays": (history(*PAST[:-1], {"leader": -1}), (1,)),
    "everything-known": (history({"leader": 3, "isr": [3]}, {"isr": [1, 3]}, *PAST), (1,)),
    "clean-from-elr": (history(*PAST[:3], {"leader": 2, "isr": [2], "elr": [1]}, *PAST[3:]), (1,)),
    "oldest-sound-version": (history(*PAST, version=15), (1,)),
    # An unclean election and a reassignment before any survivor left.
    "unclean-before": (history({"leader": 3, "isr": [3], "unclean": True, "reassigned": True}, *PAST), (1,)),
}
GAPS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "doubt": (history(*PAST, doubt="a batch cannot be read"), {}, "a batch cannot be read"),
    "doubt-and-nothing-else": (history(doubt="refused"), {}, "refused"),
    "empty": (history(), {}, "it does not end where the partition stands"),
    "led": (history(*PAST, {"leader": 2}), {}, "it does not end where the partition stands"),
    "other-epoch": (history(*PAST), {"leader_epoch": 9}, "it does not end where the partition stands"),
    "short": (history(*PAST[2:]), {}, "it does not go back to a moment when these were in the ISR: brokers 3"),
    "shorter": (history(*PAST[4:]), {}, "it does not go back to a moment when these were in the ISR: brokers 1, 3"),
    "old-kafka": (history(*PAST, version=14), {}, "metadata.version was below 3.7-IV0"),
    "no-version": (history(*PAST, version=None), {}, "metadata.version of that time is not known"),
    "static": (history(*PAST, min_isr=None), {}, "min.insync.replicas was not set for the topic or the cluster all the time"),
    "unclean": (history(*PAST[:4], {"isr": [2], "unclean": True}, PAST[-1]), {}, "there was an unclean election"),
    "reassigned": (history(*PAST[:4], {"isr": [2], "reassigned": True}, PAST[-1]), {}, "its replicas were reassigned"),
    "returned": (history(*PAST[:2], {"leader": -1}, *PAST[2:]), {}, "it lost its last leader before and got one back"),
    "returned-later": (history(*PAST[:5], {"leader": -1}, {"leader": 2}, PAST[-1]), {}, "it lost its last leader before and got one back"),
    "in-isr": (history(*PAST), {"isr": [3]}, "a survivor is in the ISR, ELR or last known ELR"),
    "in-elr": (history(*PAST), {"eligible_leader_replicas": [1]}, "a survivor is in the ISR, ELR or last known ELR"),
    "last-known": (history(*PAST), {"last_known_elr": [3]}, "a survivor is in the ISR, ELR or last known ELR"),
    "min-isr-1": (history(*PAST, min_isr=1), {}, "after all survivors had left the ISR (min.insync.replicas was 1)"),
    "large-isr": (
        history({"leader": 2, "isr": [1, 2, 3, 4]}, {"isr": [1, 2, 4]}, {"isr": [2, 4]}, PAST[-1]),
        {},
        "after all survivors had left the ISR (min.insync.replicas was 2)",
    ),
}


def proof_of(past: dict[str, Any] | None, state: dict[str, Any] | None = None, survivors: bool = True) -> IsrProof:
    """What the history proves of the logs of brokers 1 and 3, which are alive, or not."""
    brokers: dict[int, MadeUpLog | str] = {2: FENCED, 1: COMMITTED, 3: LATER, 4: FENCED}
    if not survivors:
        brokers = dict.fromkeys(brokers, FENCED)
    return decide(evidence(Situation("orders", brokers, state=state or {}, history=past)), Policy()).isr_proof


@pytest.mark.parametrize("case", PROVEN)
def test_a_replica_since_whose_leaving_the_isr_was_small_holds_every_committed_record(case: str) -> None:
    past, holders = PROVEN[case]
    proof = proof_of(past)
    assert (proof.holders, proof.gap) == (holders, None)


@pytest.mark.parametrize("case", GAPS)
def test_a_history_that_proves_nothing_says_why(case: str) -> None:
    past, state, gap = GAPS[case]
    proof = proof_of(past, state)
    assert proof.holders == ()
    assert proof.gap is not None and gap in proof.gap


def test_the_survivors_that_left_last_and_when() -> None:
    assert proof_of(history(*PAST))[1:3] == ((1,), START + 4000)
    assert proof_of(history(*TOGETHER))[1:3] == ((1, 3), START + 1000)


def test_a_survivor_that_has_not_left_has_no_time_of_leaving() -> None:
    assert proof_of(history({"leader": 2, "isr": [1, 2, 3]}, {"leader": -1, "isr": [3]}))[1:3] == ((3,), None)


def test_a_gap_leaves_what_is_known_of_who_left_last() -> None:
    proof = proof_of(history(*PAST, min_isr=None))
    assert (proof.left_last, proof.left_at) == ((1,), START + 4000)


def test_a_doubtful_history_does_not_say_who_left_last() -> None:
    proof = proof_of(history(*PAST, doubt="cut off"))
    assert (proof.left_last, proof.left_at) == ((), None)


def test_who_was_never_in_the_known_isr_did_not_leave_it() -> None:
    assert proof_of(history({"leader": 2, "isr": [2]}, {"leader": -1, "isr": []}))[:3] == ((), (), None)


def test_the_doubt_is_the_first_of_several_reasons() -> None:
    assert proof_of(history(*PAST[2:], doubt="cut off", version=None, min_isr=None), {"last_known_elr": [3]}).gap == "cut off"


def test_without_a_history_or_survivors_there_is_neither_proof_nor_gap() -> None:
    assert proof_of(None) == IsrProof()
    assert proof_of(history(*PAST), survivors=False) == IsrProof()


@pytest.mark.parametrize(("end", "holders"), [(15, (4,)), (11, (4,)), (10, ()), (4, ()), (0, ())])
def test_a_log_that_ends_before_a_fork_does_not_say_which_branch_is_committed(end: int, holders: tuple[int, ...]) -> None:
    """Raft's "Figure 8" on brokers 1 and 3: the branch of broker 1 is committed. Broker 4 held it all, and may have lost the end of its log in a power cut."""
    past = history(
        {"leader": 1, "isr": [1, 2, 3, 4]}, {"leader": 3, "isr": [2, 3, 4]}, {"leader": 2, "isr": [2, 4]}, {"isr": [2]}, {"leader": -1}
    )
    last = MadeUpLog.of((end, 0)) if end else MadeUpLog.of()
    decision = decide(evidence(Situation("orders", {2: FENCED, 1: COMMITTED, 3: LATER, 4: last}, history=past)), Policy())
    assert decision.isr_proof.holders == holders
    assert (decision.reason, set(decision.choices) <= {1, 4}) == ((None, True) if holders else ("forked", True))
    assert holders or "broker 4, which left the ISR last" in str(decision.isr_proof.gap)
