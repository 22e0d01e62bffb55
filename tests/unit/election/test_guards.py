# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards: an entry is elected only where nothing has moved since its evidence was collected."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from collected_evidence import found_again

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import PartitionEvidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Live, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.guards import gets_order, needs_reorder, refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.live_decision import Decided, with_present_state
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, StatedReplicas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog

KEY = ("orders", 0)
ENTRY = Entry(
    topic="orders", partition=0, designated_leader=2, best_first=(2, 3, 1), topic_id="id", leader_epoch=4, replicas=(1, 2, 3),
    survivors={2: (1, 121), 3: (0, 100)}, evidence_word="prefix", strategy="balanced",
)  # fmt: skip
STATE = PartitionState("orders", 0, "id", -1, 4, (1, 2, 3), (), (1,), (), (1,))


def log(epoch: int, end: int) -> ReplicaLog:
    return ReplicaLog(None, 0, end, 0, 4, LastBatch(end - 1, end - 1, epoch, 7, 0))


LIVE = Live(
    states={KEY: STATE},
    broker_states={1: "fenced", 2: "unfenced", 3: "unfenced"},
    logs={(KEY, 2): log(1, 121), (KEY, 3): log(0, 100)},
    reassigning=set(),
)

ALL_ALIVE = {1: "unfenced", 2: "unfenced", 3: "unfenced"}


def refused(entry: Entry, live: Live) -> Result | None:
    return refusal(found_again(entry), live)


def with_state(**fields: Any) -> Live:
    return replace(LIVE, states={KEY: replace(STATE, **fields)})


def test_nothing_moved_nothing_refused() -> None:
    assert refused(ENTRY, LIVE) is None


def test_a_broker_that_has_rebooted_has_to_be_looked_at_again_although_its_log_is_as_long_as_it_was() -> None:
    entry = replace(ENTRY, broker_epochs={2: 31, 3: 40})
    logs = {(KEY, 2): log(1, 121)._replace(broker_epoch=31), (KEY, 3): log(0, 100)._replace(broker_epoch=40)}
    assert refused(entry, replace(LIVE, logs=logs)) is None
    rebooted = refused(entry, replace(LIVE, logs={**logs, (KEY, 2): log(1, 121)._replace(broker_epoch=55)}))
    assert rebooted is not None and (rebooted.outcome, rebooted.reason_code) == ("stale", "broker_restarted")
    assert "broker 2 has registered again: its broker epoch is 55, no longer 31" in (rebooted.reason or "")
    older = refused(entry, replace(LIVE, logs={**logs, (KEY, 2): log(1, 121)._replace(broker_epoch=20)}))
    assert older is not None and (older.outcome, older.reason_code) == ("stale", "broker_restarted")


def test_another_order_of_the_same_replicas_is_the_work_of_another_run() -> None:
    result = refused(ENTRY, with_state(replicas=(2, 3, 1)))
    assert result is not None and (result.outcome, result.reason_code) == ("stale", "other_order")
    assert (result.reason or "").startswith("its replicas stand in the order [2, 3, 1], not [1, 2, 3] as they did")
    result = refused(replace(ENTRY, replicas=(2, 1, 3)), LIVE)
    assert result is not None and (result.outcome, result.reason_code) == ("stale", "other_order")


def test_an_order_that_was_collected_while_an_own_killed_run_had_it_changed_is_none() -> None:
    collected = replace(ENTRY, replicas=(2, 3, 1))
    assert refused(collected, replace(LIVE, ours={KEY: {(2, 3, 1)}})) is None
    result = refused(collected, replace(LIVE, ours={KEY: {(3, 2, 1)}}))
    assert result is not None and result.outcome == "stale"


@pytest.mark.parametrize(
    ("live", "outcome", "code", "words"),
    [
        (replace(LIVE, states={}), "stale", "topic_recreated", "deleted"),
        (with_state(topic_id="another"), "stale", "topic_recreated", "created again"),
        (with_state(topic_id="new"), "stale", "topic_recreated", "created again"),
        (with_state(leader=3), "already_online", "elected_by_others", "broker 3 leads it: elected by another run"),
        (with_state(leader_epoch=5), "stale", "leader_epoch_changed", "leader epoch went from 4 to 5"),
        (with_state(leader_epoch=3), "stale", "leader_epoch_changed", "leader epoch went from 4 to 3"),
        (with_state(replicas=(1, 2, 4)), "stale", "replicas_changed", r"\[1, 2, 4\], no longer \[1, 2, 3\]"),
        (with_state(replicas=(0, 2, 3)), "stale", "replicas_changed", r"\[0, 2, 3\], no longer \[1, 2, 3\]"),
        (replace(LIVE, broker_states={1: "fenced", 3: "unfenced"}), "stale", "designated_leader_lost", "broker 2 is not alive"),
        (
            replace(LIVE, broker_states={1: "fenced", 2: "fenced", 3: "unfenced"}),
            "stale",
            "designated_leader_lost",
            "broker 2 is not alive",
        ),
        (
            replace(LIVE, broker_states={1: "fenced", 2: "coming_back", 3: "unfenced"}),
            "stale",
            "designated_leader_lost",
            "broker 2 is not alive",
        ),
        (
            replace(LIVE, broker_states=ALL_ALIVE, logs={**LIVE.logs, (KEY, 1): log(0, 90)}),
            "stale",
            "replica_returned",
            "broker 1 came back",
        ),
        (replace(LIVE, logs={**LIVE.logs, (KEY, 2): log(1, 120)}), "stale", "log_changed", "ends at offset 120"),
        (replace(LIVE, logs={**LIVE.logs, (KEY, 3): log(1, 100)}), "stale", "log_changed", "broker 3 .* in epoch 1"),
        (replace(LIVE, logs={**LIVE.logs, (KEY, 2): log(1, 122)}), "stale", "log_changed", "122 in epoch 1, no longer at 121 in epoch 1;"),
        (replace(LIVE, logs={**LIVE.logs, (KEY, 2): log(0, 121)}), "stale", "log_changed", "121 in epoch 0, no longer at 121 in epoch 1;"),
        (replace(LIVE, logs={**LIVE.logs, (KEY, 3): ReplicaLog("NO_ANSWER")}), "stale", "survivor_silent", "broker 3 does not answer"),
        (
            replace(LIVE, logs={**LIVE.logs, (KEY, 3): log(0, 100)._replace(broker_epoch=7)}),
            "stale",
            "broker_restarted",
            "its broker epoch is 7, no longer None",
        ),
        (replace(LIVE, broker_states={1: "coming_back", 2: "unfenced", 3: "unfenced"}), "held", "wait_for_clean_leader", "broker 1"),
    ],
)
def test_what_moved_is_named(live: Live, outcome: str, code: str, words: str) -> None:
    result = refused(ENTRY, live)
    assert result is not None
    assert (result.outcome, result.reason_code) == (outcome, code)
    assert re.search(words, result.reason or "")


@pytest.mark.parametrize(("end", "code"), [(None, None), (79, None), (80, None), (81, "log_changed")])
def test_what_was_saved_of_a_fenced_broker_must_be_all_it_has(end: int | None, code: str | None) -> None:
    """Cut off from the controllers, it may still lead the partition and take records. A broker that does not answer any more keeps them on its disk."""
    live = replace(LIVE, fenced_ends={} if end is None else {(KEY, 1): end})
    result = refused(replace(ENTRY, saved_fenced={1: 80}), live)
    assert (result and result.reason_code) == code
    assert refused(ENTRY, live) is None, "nothing was to be saved"


def test_a_survivor_that_is_not_designated_may_die() -> None:
    """The winner's log holds all that the lost one held: nothing changed for the decision."""
    assert refused(ENTRY, replace(LIVE, broker_states={1: "fenced", 2: "unfenced", 3: "fenced"})) is None


def test_a_last_known_leader_is_not_waited_for_while_a_member_of_the_elr_is_gone() -> None:
    """The controller takes it only where the ELR is empty. A member that may come back and leave the ELR makes it possible."""
    known = replace(LIVE, states={KEY: replace(STATE, isr=(), eligible_leader_replicas=(1,), last_known_elr=(3,))})
    assert refused(ENTRY, known) is None
    result = refused(ENTRY, replace(known, broker_states={1: "coming_back", 2: "unfenced", 3: "unfenced"}))
    assert result is not None and result.reason_code == "wait_for_clean_leader"


def test_a_last_known_leader_is_not_waited_for_where_the_cluster_keeps_no_elr_any_more() -> None:
    known = replace(LIVE, states={KEY: replace(STATE, isr=(), eligible_leader_replicas=(), last_known_elr=(3,))})
    assert refused(ENTRY, replace(known, elr=False)) is None
    for elr in (True, None):
        result = refused(ENTRY, replace(known, elr=elr))
        assert result is not None and result.reason_code == "wait_for_clean_leader"


def test_a_replica_that_comes_back_unseen_is_waited_for_where_its_log_may_be_the_longest() -> None:
    nobody_clean = replace(STATE, isr=(), eligible_leader_replicas=(), last_known_elr=())
    coming = replace(LIVE, states={KEY: nobody_clean}, broker_states={1: "coming_back", 2: "unfenced", 3: "unfenced"})
    result = refused(ENTRY, coming)
    assert result is not None
    assert (result.outcome, result.reason_code) == ("held", "incomplete")
    assert re.search("^broker 1 is coming back with a replica that was not read", result.reason or "")
    assert refused(replace(ENTRY, strategy="aggressive"), coming) is None
    assert refused(replace(ENTRY, evidence_word="named", designated_by_hand=True), coming) is None
    stopped = replace(coming, broker_states={1: "fenced", 2: "unfenced", 3: "coming_back"})
    assert refused(ENTRY, stopped) is None, "broker 3 is a survivor of the plan, the winner holds all that it holds"


RETURNING = {1: "coming_back", 2: "unfenced", 3: "unfenced"}


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        ({"eligible_leader_replicas": (1,), "last_known_elr": (1,)}, "it is an eligible leader replica (ELR), which holds every committed record unless"),
        ({"eligible_leader_replicas": (), "last_known_elr": (1,)}, "it is the last known leader, whose shutdown was unclean, so the end of its log may be"),
        ({"eligible_leader_replicas": (), "isr": (1,)}, "it is the last member of the ISR, which holds every committed record unless its shutdown was"),
    ],
)  # fmt: skip
def test_of_whom_the_controller_will_elect_by_itself_no_more_is_promised_than_it_holds(standing: dict[str, Any], words: str) -> None:
    result = refused(ENTRY, replace(with_state(**standing), broker_states=RETURNING))
    assert result is not None and result.outcome == "held"
    assert words in (result.reason or "")


@pytest.mark.parametrize("alive", [True, False])
def test_a_member_of_the_isr_that_is_alive_has_registered_since_its_shutdown(alive: bool) -> None:
    logs = {**LIVE.logs, (KEY, 1): ReplicaLog("NO_ANSWER")}
    live = replace(with_state(isr=(1,), eligible_leader_replicas=()), broker_states=ALL_ALIVE if alive else RETURNING, logs=logs, elr=True)
    reason = (refused(ENTRY, live) or Result.of(ENTRY, Outcome.ELECTED)).reason or ""
    assert "it is the last member of the ISR, which holds every committed record" in reason
    assert ("unless its shutdown was unclean" in reason) != alive


@pytest.mark.parametrize(
    ("standing", "elr", "words"),
    [
        ({"isr": (1,)}, False, "the controller elects it by itself; it is the last member of the ISR, which stays there however"),
        ({"isr": (1,)}, True, "the controller may elect it by itself (whether it was shut down cleanly is not known); it is"),
        (
            {"eligible_leader_replicas": (1,)},
            True,
            "the controller may elect it by itself (whether it was shut down cleanly is not known); it is",
        ),
        ({"eligible_leader_replicas": (1,), "last_known_elr": (1,)}, True, "the controller elects it by itself; it is"),
        ({"last_known_elr": (1,)}, True, "the controller elects it by itself; it is the last known leader"),
        (
            {"last_known_elr": (1,)},
            None,
            "the controller may elect it by itself (whether eligible leader replicas are on is not known); it is",
        ),
    ],
)
def test_an_election_by_the_controller_that_is_not_certain_is_one_that_it_may_hold(
    standing: dict[str, Any], elr: bool | None, words: str
) -> None:
    lists = {"isr": (), "eligible_leader_replicas": (), "last_known_elr": (), **standing}
    result = refused(ENTRY, replace(with_state(**lists), broker_states=RETURNING, elr=elr))
    assert result is not None and result.reason_code == "wait_for_clean_leader"
    assert words in (result.reason or "")


@pytest.mark.parametrize(
    ("planned", "leader", "code", "words"),
    [
        ({"last_known_elr": (1,)}, 1, "elected_as_last_known_leader", "broker 1 leads it: broker 1 came back and the controller elected it"),
        ({"eligible_leader_replicas": (1,), "last_known_elr": (1,)}, 1, "elected_from_elr_or_as_last_known_leader", "if its shutdown was clean; else"),
        ({"isr": (1,)}, 1, "elected_from_isr", "unless its shutdown was unclean"),
        ({"unclean_leader_election_enable": True}, 3, "elected_by_others", "elected by the controller by itself (unclean.leader.election.enable is true"),
        ({"unclean_leader_election_enable": False}, 3, "elected_by_others", "broker 3 leads it: elected by another run, or kafka-leader-election.sh"),
    ],
)  # fmt: skip
def test_who_elected_a_leader_since_the_plan_was_made_and_what_that_leader_is_worth(
    planned: dict[str, Any], leader: int, code: str, words: str
) -> None:
    result = refused(replace(ENTRY, **planned), replace(with_state(leader=leader, leader_epoch=5), broker_states=ALL_ALIVE))
    assert result is not None and (result.outcome, result.reason_code) == ("already_online", code)
    assert words in (result.reason or "")


def test_a_member_of_the_elr_whose_disk_has_failed_is_not_waited_for() -> None:
    eligible = with_state(eligible_leader_replicas=(1,))

    def on_disk(error: str | None) -> Live:
        return replace(eligible, broker_states=ALL_ALIVE, logs={**eligible.logs, (KEY, 1): ReplicaLog(error=error)})

    assert refused(ENTRY, on_disk("DISK_FAILED")) is refused(ENTRY, on_disk("KAFKA_STORAGE_ERROR")) is None
    silent = refused(replace(ENTRY, evidence_word="incomplete"), on_disk("NO_ANSWER"))
    assert silent is not None and silent.reason_code == "wait_for_clean_leader"
    assert (silent.reason or "").startswith("broker 1 is alive and the controller may elect it by itself")
    assert "whether its disk works is not known" in (silent.reason or "")
    repaired = refused(ENTRY, on_disk(None))
    assert repaired is not None and repaired.reason_code == "replica_returned"


def test_an_order_with_a_failed_disk_before_the_leader_need_not_be_changed() -> None:
    entry = replace(ENTRY, best_first=(2, 3, 1))
    logs = {**LIVE.logs, (KEY, 1): ReplicaLog(error="DISK_FAILED")}
    live = replace(LIVE, broker_states=ALL_ALIVE, logs=logs)
    assert not needs_reorder(entry, live)
    assert needs_reorder(entry, replace(live, logs={**logs, (KEY, 1): ReplicaLog(error="NO_ANSWER")}))


@pytest.mark.parametrize("error", ["DISK_FAILED", "KAFKA_STORAGE_ERROR"])
def test_a_disk_that_has_failed_by_the_word_of_its_broker_alone_does_not_keep_the_controller_from_electing_it(error: str) -> None:
    live = replace(with_state(offline_replicas=()), broker_states=ALL_ALIVE, logs={**LIVE.logs, (KEY, 1): ReplicaLog(error=error)})
    assert needs_reorder(replace(ENTRY, best_first=(2, 3, 1)), live), "else the controller elects broker 1, the first live replica"


def test_an_order_that_was_restored_a_moment_ago_is_set_again() -> None:
    """All brokers may still show the order that the killed run had set."""
    assert not needs_reorder(ENTRY, with_state(replicas=ENTRY.best_first))
    assert needs_reorder(ENTRY, replace(with_state(replicas=ENTRY.best_first), restored={KEY}))


def test_the_designated_replica_is_put_first_if_nothing_forbids_it() -> None:
    assert not needs_reorder(ENTRY, LIVE) and gets_order(ENTRY, LIVE), "broker 1 may come back before the election"
    third = replace(with_state(replicas=(3, 2, 1)), broker_states={1: "fenced", 2: "unfenced", 3: "fenced"})
    assert not needs_reorder(ENTRY, third) and gets_order(ENTRY, third), "broker 3 may"
    assert not gets_order(ENTRY, with_state(replicas=ENTRY.best_first))
    assert not gets_order(ENTRY, replace(LIVE, reassigning={KEY}))
    assert not gets_order(ENTRY, replace(LIVE, reorders=False))
    assert not gets_order(ENTRY, replace(LIVE, second={})), "no second broker states its replicas"
    late = replace(with_state(replicas=ENTRY.best_first), restored={KEY})
    assert gets_order(ENTRY, late) and not gets_order(ENTRY, replace(late, reorders=False))


def test_a_designation_needs_only_its_broker_first_while_a_reassignment_is_under_way() -> None:
    live = replace(with_state(replicas=(2, 1, 3)), broker_states=ALL_ALIVE)
    assert needs_reorder(ENTRY, live) and needs_reorder(replace(ENTRY, designated_by_hand=True), live)
    assert needs_reorder(ENTRY, replace(live, reassigning={KEY}))
    assert not needs_reorder(replace(ENTRY, designated_by_hand=True), replace(live, reassigning={KEY}))
    for other in ((1, 2, 3), (3, 2, 1)):
        behind = replace(with_state(replicas=other), broker_states=ALL_ALIVE, reassigning={KEY})
        assert needs_reorder(replace(ENTRY, designated_by_hand=True), behind)


def test_an_election_is_held_if_brokers_disagree_or_none_confirms_an_order_that_must_change() -> None:
    def code(live: Live, second: StatedReplicas | None) -> str | None:
        result = refused(replace(ENTRY, replicas=live.states[KEY].replicas), replace(live, second={KEY: second} if second else {}))
        assert result is None or result.outcome == "held"
        return None if result is None else str(result.reason_code)

    must_change = with_state(replicas=(1, 3, 2))
    assert code(LIVE, StatedReplicas(2, (1, 2, 3))) is code(must_change, StatedReplicas(2, (1, 3, 2))) is None
    assert code(LIVE, StatedReplicas(2, (1, 3, 2))) == code(must_change, StatedReplicas(2, (1, 2, 3))) == "brokers_disagree"
    assert code(LIVE, None) is None, "the order stays"
    assert code(must_change, None) == "no_second_broker"
    assert code(LIVE, StatedReplicas(2, (1, 2, 3), leader=2)) == "brokers_disagree", "it may have a leader, and is not touched then"
    assert code(LIVE, StatedReplicas(2, (1, 2, 3), leader=99)) == "brokers_disagree", "that it is not alive is the word of one broker"


def test_a_designation_is_held_if_a_reassignment_keeps_an_order_from_being_set_again() -> None:
    """The order that brokers show may be that of the killed run still, and a new order would replace the reassignment."""
    entry = replace(ENTRY, designated_by_hand=True)
    live = replace(
        with_state(replicas=ENTRY.best_first, isr=(2,)), ours={KEY: {ENTRY.best_first}}, originals={KEY: ENTRY.replicas}, reassigning={KEY}
    )
    assert refusal(entry, live) is None
    result = refusal(entry, replace(live, restored={KEY}))
    assert result is not None and (result.outcome, result.reason_code) == ("held", "reassignment_in_progress")


def test_aggressive_does_not_wait_for_a_clean_leader() -> None:
    coming = replace(LIVE, broker_states={1: "coming_back", 2: "unfenced", 3: "unfenced"})
    assert refused(replace(ENTRY, strategy="aggressive"), coming) is None


def test_a_survivor_that_was_silent_when_it_was_planned_may_still_be_silent() -> None:
    silent = replace(LIVE, states={KEY: replace(STATE, eligible_leader_replicas=())}, broker_states=ALL_ALIVE)
    silent = replace(silent, logs={**LIVE.logs, (KEY, 1): ReplicaLog("NO_ANSWER")})
    aggressive = replace(ENTRY, strategy="aggressive", evidence_word="incomplete")
    assert refused(aggressive, silent) is None
    speaks = refused(aggressive, replace(silent, logs={**LIVE.logs, (KEY, 1): log(0, 90)}))
    assert speaks is not None and speaks.outcome == "stale"
    unplanned = refused(ENTRY, silent)
    assert unplanned is not None and unplanned.outcome == "stale"


def test_a_reassignment_is_an_obstacle_where_the_order_would_have_to_change() -> None:
    live = replace(LIVE, reassigning={KEY})
    assert refused(ENTRY, live) is None, "broker 1 is dead, 2 and 3 already stand best-first"
    result = refused(replace(ENTRY, replicas=(1, 3, 2)), replace(with_state(replicas=(1, 3, 2)), reassigning={KEY}))
    assert result is not None
    assert (result.outcome, result.reason_code) == ("held", "reassignment_in_progress")


def test_a_reassignment_is_no_obstacle_where_the_election_names_the_leader() -> None:
    entry = replace(ENTRY, replicas=(1, 3, 2))
    live = replace(with_state(replicas=(1, 3, 2)), reassigning={KEY})
    assert (
        refused(entry, replace(live, reorders=False))
        is refusal(replace(entry, designated_by_hand=True), replace(live, reorders=False))
        is None
    )
    held = refusal(replace(entry, designated_by_hand=True), live)
    assert held is not None and held.reason_code == "reassignment_in_progress"
    assert "cannot complete without a leader" in (held.reason or "") and "with broker 2 first" in (held.reason or "")
    led_once = refusal(replace(entry, designated_by_hand=True), replace(with_state(replicas=(1, 3, 2), isr=(1,)), reassigning={KEY}))
    assert led_once is not None and "state: cancelled" in (led_once.reason or "")


def test_a_replica_whose_broker_the_cluster_does_not_know_does_not_count_for_the_order() -> None:
    assert not needs_reorder(ENTRY, replace(LIVE, broker_states={2: "unfenced", 3: "unfenced"}))


def test_a_broker_that_is_coming_back_counts_for_the_order() -> None:
    """Broker 1 stands first: unfenced just before the election it would win, although its log was not read."""
    assert needs_reorder(ENTRY, replace(LIVE, broker_states={1: "coming_back", 2: "unfenced", 3: "unfenced"}))


def test_a_forged_plan_elects_no_other_broker_than_the_decision() -> None:
    """Its guards fit the cluster and its digest fits its content, and still it designates the shorter log."""
    forged = replace(found_again(ENTRY), designated_leader=3, best_first=(3, 2, 1))
    result = refusal(forged, LIVE)
    assert result is not None and result.outcome == "stale"
    assert "the plan elects broker 3 (prefix), and the evidence of now elects broker 2 (prefix)" in (result.reason or "")


def test_of_several_brokers_the_first_one_is_named() -> None:
    """Of several that are waited for, that come back, or that the decision of now may elect."""
    both = replace(LIVE, broker_states={1: "coming_back", 2: "unfenced", 3: "coming_back"})
    clean = refused(ENTRY, replace(both, states={KEY: replace(STATE, isr=(), eligible_leader_replicas=(1, 3))}))
    assert clean is not None and (clean.reason or "").startswith("broker 1 is coming back and the controller")
    four = with_state(replicas=(1, 2, 3, 4), isr=(), eligible_leader_replicas=())
    returning = {1: "coming_back", 2: "unfenced", 3: "unfenced", 4: "coming_back"}
    unread = refused(replace(ENTRY, replicas=(1, 2, 3, 4), best_first=(2, 3, 1, 4)), replace(four, broker_states=returning))
    assert unread is not None and (unread.reason or "").startswith("broker 1 is coming back with a replica that was not read")
    survivors = {2: (1, 121), 3: (1, 121), 4: (0, 50)}
    entry = found_again(replace(ENTRY, replicas=(1, 2, 3, 4), best_first=(2, 3, 4, 1), survivors=survivors))
    logs = {(KEY, broker): log(*ends) for broker, ends in survivors.items()}
    live = replace(with_state(replicas=(1, 2, 3, 4)), logs=logs, broker_states={1: "fenced", 2: "unfenced", 3: "unfenced", 4: "unfenced"})
    result = refusal(replace(entry, designated_leader=4, best_first=(4, 2, 3, 1)), live)
    assert result is not None and "the evidence of now elects broker 2 (prefix)" in (result.reason or "")


def test_a_plan_whose_evidence_is_weaker_now_is_stale() -> None:
    found = found_again(ENTRY).live_evidence
    assert found is not None
    forked = replace(found, pairs={(2, 3): found.pairs[2, 3]._replace(relation="forked", shorter=None, common_offset=50)})
    result = refusal(replace(ENTRY, live_evidence=forked), LIVE)
    assert result is not None and result.outcome == "stale"
    assert "the evidence of now holds it (forked)" in (result.reason or "")
    assert refusal(replace(ENTRY, live_evidence=forked, strategy="aggressive"), LIVE) is None


@pytest.mark.parametrize("found", [None, replace(PartitionEvidence("orders", 0, None), defects=("isr is missing",))])
def test_without_evidence_of_now_nothing_is_elected(found: PartitionEvidence | None) -> None:
    result = refusal(replace(ENTRY, live_evidence=found), LIVE)
    assert result is not None and result.outcome == "stale"
    assert refusal(replace(ENTRY, live_evidence=found, evidence_word="named", designated_by_hand=True), LIVE) is None, (
        "the person who named it has seen the doubts"
    )


def test_a_log_that_has_changed_while_its_evidence_was_collected_again_is_stale() -> None:
    found = found_again(replace(ENTRY, survivors={2: (1, 121), 3: (0, 99)})).live_evidence
    result = refusal(replace(ENTRY, live_evidence=found), LIVE)
    assert result is not None and result.outcome == "stale"


def test_a_leader_designated_by_hand_is_elected_while_another_broker_is_waited_for_or_silent() -> None:
    named = replace(ENTRY, evidence_word="named", designated_by_hand=True)
    coming = replace(LIVE, broker_states={1: "coming_back", 2: "unfenced", 3: "unfenced"})
    assert refusal(named, coming) is None
    silent = replace(LIVE, broker_states=ALL_ALIVE, logs={**LIVE.logs, (KEY, 1): ReplicaLog("NO_ANSWER")})
    assert refusal(named, silent) is None


@pytest.mark.parametrize(("longer", "shorter"), [(3, 4), (4, 3)])
def test_other_replicas_in_another_order_than_the_evidence_of_now_has_them_are_stale(longer: int, shorter: int) -> None:
    """Should the leader die at that moment, the next of them leads."""
    survivors = {2: (1, 121), longer: (0, 100), shorter: (0, 50)}
    entry = found_again(replace(ENTRY, replicas=(1, 2, 3, 4), best_first=(2, longer, shorter, 1), survivors=survivors))
    logs = {(KEY, broker): log(*ends) for broker, ends in survivors.items()}
    live = replace(with_state(replicas=(1, 2, 3, 4)), logs=logs, broker_states={1: "fenced", 2: "unfenced", 3: "unfenced", 4: "unfenced"})
    assert refusal(entry, live) is None
    result = refusal(replace(entry, best_first=(2, shorter, 1, longer)), live)
    assert result is not None and (result.outcome, result.reason_code) == ("stale", "evidence_changed")


def test_a_fenced_broker_that_answers_and_whose_log_was_not_read_is_no_lost_broker() -> None:
    assert refused(ENTRY, replace(LIVE, cut_off=frozenset({4}))) is None
    result = refused(ENTRY, replace(LIVE, cut_off=frozenset({1})))
    assert result is not None and (result.outcome, result.reason_code) == ("stale", "evidence_changed")


@pytest.mark.parametrize("error", ["IMPOSSIBLE_ANSWER", "UNKNOWN_TOPIC_OR_PARTITION", "KAFKA_STORAGE_ERROR", "NO_ANSWER"])
def test_a_fenced_broker_that_gave_no_log_when_the_evidence_was_collected_makes_no_plan_stale(error: str) -> None:
    entry = found_again(ENTRY)
    assert entry.live_evidence is not None
    logs = tuple(log._replace(error=error) if log.broker_id == 1 else log for log in entry.live_evidence.logs)
    again = replace(LIVE, cut_off=frozenset({1}))
    assert refusal(replace(entry, live_evidence=replace(entry.live_evidence, logs=logs)), again) is None
    unread = refusal(entry, again)
    assert unread is not None and unread.reason_code == "evidence_changed"


def test_a_broker_that_was_silent_and_is_fenced_and_answers_now_may_say_more() -> None:
    entry = found_again(replace(ENTRY, strategy="aggressive"))
    assert entry.live_evidence is not None
    logs = tuple(
        log._replace(broker_state="unfenced", error="NO_ANSWER") if log.broker_id == 1 else log for log in entry.live_evidence.logs
    )
    silent = replace(entry, live_evidence=replace(entry.live_evidence, logs=logs))
    assert refusal(silent, LIVE) is None
    result = refusal(silent, replace(LIVE, cut_off=frozenset({1})))
    assert result is not None and result.reason_code == "evidence_changed"


@pytest.mark.parametrize("broker", [1, 3])
def test_a_broker_that_was_unfenced_after_the_logs_were_read_has_not_been_looked_at(broker: int) -> None:
    logs = {key: value for key, value in LIVE.logs.items() if key[1] != broker}
    result = refused(
        ENTRY, replace(LIVE, broker_states=ALL_ALIVE, logs={**logs, **({(KEY, 1): ReplicaLog("NO_ANSWER")} if broker == 3 else {})})
    )
    assert result is not None and result.outcome == "stale"
    assert result.reason_code == ("replica_returned" if broker == 1 else "survivor_silent")


@pytest.mark.parametrize("field", ["topic_id", "leader_epoch", "replicas", "broker_epoch"])
def test_evidence_of_another_partition_or_boot_than_the_cluster_has_now_is_stale(field: str) -> None:
    found = found_again(ENTRY).live_evidence
    assert found is not None and found.state is not None
    others: dict[str, Any] = {"topic_id": "other", "leader_epoch": 3, "replicas": (1, 2, 4)}
    if field == "broker_epoch":
        found = replace(found, logs=tuple(one._replace(broker_epoch=7) if one.broker_id == 2 else one for one in found.logs))
    else:
        found = replace(found, state=found.state._replace(**{field: others[field]}))
    result = refusal(replace(ENTRY, live_evidence=found), LIVE)
    assert result is not None and (result.outcome, result.reason_code) == ("stale", "evidence_changed")


@pytest.mark.parametrize("elr", [True, None])
def test_a_decision_is_kept_for_the_evidence_policy_and_elr_that_it_was_made_on(elr: bool | None) -> None:
    entry, live = found_again(ENTRY), replace(LIVE, elr=elr)
    assert entry.live_evidence is not None
    evidence = with_present_state(entry.live_evidence, STATE, live.broker_states, live.logs, live.reassigning)
    assert evidence is not None
    # Nothing decides like this, so it shows whether the decision was made again.
    kept = replace(decide(evidence, entry.policy, elr), choices=(3,))
    result = refusal(replace(entry, decided=Decided(kept, entry.policy, elr)), live)
    assert result is not None and result.reason_code == "decided_otherwise"
    others = replace(evidence, logs=tuple(log._replace(high_watermark=1) for log in evidence.logs))
    for made_on in (
        Decided(kept, replace(entry.policy, strategy=Strategy.AGGRESSIVE), elr),
        Decided(kept, entry.policy, False),
        Decided(replace(kept, evidence=others), entry.policy, elr),
    ):
        assert refusal(replace(entry, decided=made_on), live) is None
