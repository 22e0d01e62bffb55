# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remedies: what the operator can do about a held partition is true, and names the brokers that it is about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from decided_cases import CASES
from evidence_documents import cluster, document, evidence
from partition_situations import COMING_BACK, FENCED, UNREADABLE, Log, Situation, broker_rows, history

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Decision, Policy, Word, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import read
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.held_text import REASONS, remedy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy

SHORT, LONG = Log.of((100, 0), high_watermark=80), Log.of((120, 0), high_watermark=80)
ACKNOWLEDGED, OLD_TAIL = Log.of((100, 0), (21, 1), high_watermark=90), Log.of((180, 0), high_watermark=90)
EAST = cluster(broker_rows(9, {1: 12.9}), 1)
NAMED = "if kafka_recovery_partitions (or kafka_recovery_partitions_file) names it when the plan is made"
BALANCED_GOES_ON = "Strategy balanced does not wait"
TOPICS = {case.topic: case for case in CASES}


def decided(case: Situation, strategy: Strategy = Strategy.BALANCED) -> Decision:
    return decide(evidence(case), Policy(strategy), EAST.elr)


def advice(case: Situation, reason: str, strategy: Strategy = Strategy.BALANCED) -> str:
    """What the plan says about a partition that is held for this reason."""
    decision = decided(case, strategy)
    assert decision.reason == reason
    text = remedy(decision, EAST)
    assert text is not None and text.startswith("held: ")
    return text


def test_every_reason_has_its_advice() -> None:
    words = {word.value for word in Word} - {Word.PREFIX, Word.FORKED_RESOLVED}
    others = {
        "cluster_metadata", "strategy_none", "wait_for_clean_leader", "must_be_named", "reassignment_in_progress", "ahead_of_controller",
        "fenced_broker_holds_more", "wait_for_elr", "retention_gap", "tiered_storage",
    }  # fmt: skip
    assert REASONS.keys() == words | others


def test_a_live_broker_that_does_not_answer_may_be_elected_or_may_have_lost_its_disk() -> None:
    text = advice(Situation("orders", {1: "NO_ANSWER", 3: LONG}, state={"isr": [1]}), "wait_for_clean_leader")
    assert (
        "the controller may then elect broker 1 by itself: it does not answer for this partition, so whether its disk works is not known"
        in text
    )
    assert "If it stays so, repair broker 1 or its disk" in text


def test_a_broker_that_refuses_to_show_records_needs_a_permission_and_no_repair() -> None:
    text = advice(Situation("orders", {1: "TOPIC_AUTHORIZATION_FAILED", 2: "NO_ANSWER", 3: LONG}), "incomplete")
    assert "grant READ on the topic (broker 1 refuses to show its records)" in text
    assert "repair broker 2 (alive" in text


@pytest.mark.parametrize("reason", ["wait_for_clean_leader", "incomplete"])
def test_a_broker_that_never_ends_its_return_is_stopped_before_the_election_is_forced(reason: str) -> None:
    """An election that saves records holds the partition while the log of such a broker is not read."""
    state = {"isr": [1]} if reason == "wait_for_clean_leader" else {}
    returning = advice(Situation("orders", {1: COMING_BACK, 3: LONG}, state=state), reason)
    assert "stop broker 1" in returning and returning.index("Strategy aggressive") < returning.index("stop broker 1")
    assert "stop broker" not in advice(TOPICS["uncompared"], "incomplete")


def test_a_reassignment_without_a_leader_is_cancelled_and_not_waited_for() -> None:
    """Its new replicas have no leader to copy from, so it does not complete."""
    case = TOPICS["reassigning"]
    text = advice(replace(case, state={**case.state, "isr": [1]}), "reassignment_in_progress")
    assert "cannot complete without a leader" in text and "cancel it (module kafka_partition_reassignment with state: cancelled)" in text
    assert "let it complete" not in text


def test_a_reassignment_that_kafka_does_not_cancel_is_replaced() -> None:
    """With an empty ISR a cancelled reassignment would be an unclean election."""
    text = advice(TOPICS["reassigning"], "reassignment_in_progress")
    assert "Replace it by the replicas of before, with broker 3 first (kafka-reassign-partitions.sh --execute --additional)" in text


def test_logs_without_a_common_offset_say_what_was_deleted_and_what_an_election_gives_up() -> None:
    text = advice(TOPICS["gap"], "retention_gap")
    assert "the log of broker 2 ends at offset 40, and that of broker 3 starts at offset 100" in text
    assert "kafka_controller_bootstrap_servers" in text and "kafka_recovery_duration" not in text
    assert "Strategy aggressive elects broker 3, and broker 2 deletes its log (offsets 0 to 39)" in text
    known = advice(replace(TOPICS["gap"], history=history({"leader": 3, "isr": [3]}, {"leader": -1})), "retention_gap")
    assert "kafka_controller_bootstrap_servers" not in known
    assert "the log of broker 2 ends at offset 40, and that of broker 3 starts at offset 100" in advice(
        TOPICS["gap-below"], "retention_gap"
    )
    assert "Strategy aggressive elects broker 2, and broker 3 deletes its log (offsets 100 to 119)" in advice(
        TOPICS["gap-below"], "retention_gap"
    )


def test_a_gap_is_named_beside_what_can_be_repaired() -> None:
    assert "repair broker 1" in advice(TOPICS["gap-beside-silent"], "incomplete")
    beside = advice(TOPICS["gap-beside-uncompared"], "incomplete")
    assert "why the log of broker 1 could not be compared" in beside and "broker 2 could not" not in beside


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("topic", TOPICS)
def test_advice_is_one_part_of_an_explanation(topic: str, strategy: Strategy) -> None:
    decision = decided(TOPICS[topic], strategy)
    text = remedy(decision, EAST)
    assert (text is None) == (decision.reason is None)
    assert text is None or ("; " not in text and "{" not in text)


@pytest.mark.parametrize(
    ("topic", "what_is_wrong"),
    [
        ("corrupt", "compare the segments of brokers 2, 3 (kafka-dump-log.sh)"),
        ("contradicted", "find out why"),
        ("below", "records that are proven committed"),
        ("__transaction_state", "transactions may hang"),
    ],
)
def test_what_must_be_named_is_explained_by_its_evidence(topic: str, what_is_wrong: str) -> None:
    text = advice(TOPICS[topic], "must_be_named", Strategy.AGGRESSIVE)
    assert what_is_wrong in text and text.endswith(f"It is elected only {NAMED}")


def test_transactions_with_alarming_evidence_have_both_in_the_advice() -> None:
    text = advice(replace(TOPICS["corrupt"], topic="__transaction_state"), "must_be_named", Strategy.AGGRESSIVE)
    assert "compare the segments" in text and "transactions may hang" in text


@pytest.mark.parametrize(
    ("topic", "reason", "needs_its_name"),
    [
        ("below", "below_high_watermark", True),
        ("corrupt", "corrupt", True),
        ("contradicted", "contradicted", True),
        ("ahead", "ahead_of_controller", True),
        ("below-named", "below_high_watermark", False),
        ("contradicted-named", "contradicted", False),
        ("ahead-named", "ahead_of_controller", False),
        ("forked", "forked", False),
        ("weak", "weak", False),
    ],
)
def test_the_name_is_required_only_if_the_strategy_aggressive_needs_it(topic: str, reason: str, needs_its_name: bool) -> None:
    assert (NAMED in advice(TOPICS[topic], reason)) == needs_its_name
    by_force = decided(TOPICS[topic], Strategy.AGGRESSIVE)
    assert (by_force.reason is not None) == needs_its_name


def test_tiered_storage_names_what_may_prove_that_nothing_is_missing_before_the_force() -> None:
    text = advice(TOPICS["tiered"], "tiered_storage")
    steps = (
        "broker 3 (to offset 120)",
        "start or repair broker 1",
        "read the disk",
        "kafka_controller_bootstrap_servers",
        "Strategy aggressive elects",
    )
    places = [text.index(step) for step in steps]
    assert places == sorted(places) and NAMED not in text
    assert "kafka_controller_bootstrap_servers" not in advice(TOPICS["tiered-history-not"], "tiered_storage"), "it was read"
    assert "which segments remote storage has" in advice(TOPICS["__remote_log_metadata"], "tiered_storage")
    assert decided(TOPICS["tiered"], Strategy.AGGRESSIVE).reason is None


def test_a_fork_of_transactions_needs_its_name_too() -> None:
    assert NAMED in advice(replace(TOPICS["forked"], topic="__transaction_state"), "forked")


def test_a_fork_names_what_may_prove_a_branch_before_what_is_given_up() -> None:
    text = advice(TOPICS["forked"], "forked")
    places = [text.index(part) for part in ("broker 1", "kafka_controller_bootstrap_servers", "broker 3's offsets 100 to 179")]
    assert places == sorted(places)
    known = replace(TOPICS["forked"], history=history({"leader": 1, "isr": [1, 2, 3]}, {"leader": -1, "isr": []}, min_isr=None))
    assert "kafka_controller_bootstrap_servers" not in advice(known, "forked")
    several = replace(TOPICS["forked"], brokers={1: FENCED, 2: ACKNOWLEDGED, 3: OLD_TAIL, 4: OLD_TAIL})
    assert "under truncated" in advice(several, "forked")
    assert "broker 3's offsets 10 to 12" in advice(TOPICS["figure-8-proven"], "forked_proven")


@pytest.mark.parametrize("strategy", [Strategy.BALANCED, Strategy.AGGRESSIVE])
def test_a_document_that_contradicts_itself_is_forced_by_no_strategy(strategy: Strategy) -> None:
    rows = document(Situation("orders", {1: FENCED, 2: LONG, 3: "NO_ANSWER"}, state={"named": True}).rows())
    rows["logs"][1]["high_watermark"] = 121
    decision = decide(read(rows), Policy(strategy))
    text = remedy(decision, EAST) or ""
    assert decision.reason == "incomplete" and "designate the leader by hand" in text and "aggressive" not in text


def test_logs_that_could_not_be_compared_are_not_blamed_on_brokers_that_answered() -> None:
    text = advice(TOPICS["uncompared"], "incomplete")
    assert "broker 2 could not be compared" in text and "kafka_recovery_duration" in text and "cleanup.policy" in text
    assert "repair broker" not in text and "wait for" not in text


def test_unread_offsets_are_recovered_first_or_given_up() -> None:
    """They are unread also if a partition of __consumer_offsets has no leader, and it may never have one again."""
    text = advice(replace(TOPICS["forked"], state={"offsets_unread": True}), "incomplete")
    places = [
        text.index(part) for part in ("__consumer_offsets", "DESCRIBE", "plan again", "designated by hand", "Strategy aggressive elects")
    ]
    assert places == sorted(places)


def test_brokers_that_did_not_answer_are_named_with_what_helps() -> None:
    case = Situation("orders", {1: FENCED, 2: LONG, 3: "NO_ANSWER", 4: COMING_BACK})
    text = advice(case, "incomplete")
    assert "wait for broker 4" in text and "repair broker 3 " in text
    assert "broker 1" not in text and "compared" not in text


def test_a_broker_that_answered_and_is_coming_back_is_waited_for() -> None:
    """It was read while it was cut off from the controllers, and is on its way by now."""
    rows = document(Situation("orders", {1: Log.of((100, 0), fenced=True), 2: LONG}).rows())
    rows["logs"][0]["broker_state"] = COMING_BACK
    decision = decide(read(rows), Policy())
    assert decision.reason == "incomplete" and "wait for broker 1 to come back" in (remedy(decision, EAST) or "")


def test_an_unread_epoch_does_not_make_lengths_decide() -> None:
    text = advice(Situation("orders", {1: FENCED, 2: SHORT, 3: Log((0,) * 119 + (UNREADABLE,), (0,) * 120)}), "weak")
    assert "last-written epoch of broker 3" in text and "length" not in text


@pytest.mark.parametrize(
    ("brokers", "state", "steps", "balanced"),
    [
        ({1: FENCED, 3: LONG}, {"eligible_leader_replicas": [1]}, ["start or repair broker 1"], True),
        ({1: "DISK_FAILED", 3: LONG}, {"eligible_leader_replicas": [1]}, ["bring the disk of broker 1 back"], True),
        ({1: Log.of((120, 0), fenced=True), 3: LONG}, {"eligible_leader_replicas": [1]}, ["connection of broker 1"], True),
        ({1: Log.of((150, 0), fenced=True), 3: LONG}, {"eligible_leader_replicas": [1]}, ["connection of broker 1"], False),
        ({1: FENCED, 2: COMING_BACK, 3: LONG}, {"eligible_leader_replicas": [1], "last_known_elr": [2]}, ["wait for broker 2", "repair broker 1"], False),
        ({1: FENCED, 4: FENCED}, {"eligible_leader_replicas": [1]}, ["start or repair broker 1"], False),
    ],
)  # fmt: skip
def test_each_member_that_kip966_balanced_waits_for_has_its_own_repair(
    brokers: dict[int, Log | str], state: dict[str, Any], steps: list[str], balanced: bool
) -> None:
    text = advice(Situation("orders", brokers, state=state), "wait_for_elr", Strategy.KIP966_BALANCED)
    assert all(step in text for step in steps)
    assert (BALANCED_GOES_ON in text) == balanced


def test_a_log_that_is_ahead_of_the_controller_is_named() -> None:
    assert "broker 3 has leader epoch 8, the controller 7" in advice(TOPICS["ahead"], "ahead_of_controller")
    fenced = Situation("orders", {1: Log.of((100, 0), (10, 9), fenced=True), 2: LONG, 3: LONG})
    assert "held: broker 1 has leader epoch 9, the controller 7" in advice(fenced, "ahead_of_controller")


@pytest.mark.parametrize("word", ["prefix", "below"])
def test_only_a_survivor_that_is_ahead_needs_the_name_for_its_epoch(word: str) -> None:
    """Aggressive gives up what fenced brokers hold, and does not look at their epochs."""
    shorter = Log.of((100, 0), high_watermark=80) if word == "prefix" else Log.of((90, 0), (5, 2), high_watermark=95)
    case = Situation("orders", {1: Log.of((100, 0), (10, 9), fenced=True), 2: shorter, 3: Log.of((100, 0), (20, 3), high_watermark=100)})
    text = advice(case, "ahead_of_controller")
    by_force = decided(case, Strategy.AGGRESSIVE)
    assert ("Strategy aggressive elects it" in text, NAMED in text) == (True, word == "below")
    assert by_force.reason == (None if word == "prefix" else "must_be_named")


def test_no_strategy_is_promised_to_elect_a_partition_without_a_survivor_that_is_ahead() -> None:
    case = Situation("orders", {1: Log.of((100, 0), (10, 9), fenced=True), 2: FENCED})
    assert "Strategy aggressive elects" not in advice(case, "ahead_of_controller")
    assert decided(case, Strategy.AGGRESSIVE).reason == "no_survivor"


def test_without_a_survivor_each_broker_has_its_own_repair() -> None:
    case = Situation("orders", {1: LONG, 2: FENCED, 3: "DISK_FAILED", 4: "NO_ANSWER"})
    case = replace(case, brokers={**case.brokers, 1: Log.of((150, 0), fenced=True)})
    text = advice(case, "no_survivor")
    for step in ("connection of broker 1 to the controllers", "start or repair broker 2", "disk of broker 3", "repair broker 4"):
        assert step in text


def test_the_fenced_broker_that_holds_more_is_named() -> None:
    assert "connection of broker 1 to the controllers" in advice(TOPICS["fenced-longer"], "fenced_broker_holds_more")
