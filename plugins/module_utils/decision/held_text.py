# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences about why a partition is held and what the operator can do, the cheapest step first. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import follows
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import (
    ALARMING,
    ELECTED_IF_NAMED,
    RETENTION_GAP,
    Decision,
    Word,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    COMING_BACK,
    READ_REFUSED,
    REMOTE_LOG_METADATA,
    UNFENCED,
    ClusterHeader,
    Log,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import broker_list, plural
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.shared_sentences import CANNOT_COMPLETE, end_reassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.waiting import doubt_about

IF_NAMED = "if kafka_recovery_partitions (or kafka_recovery_partitions_file) names it when the plan is made"
# What is wrong, and what to look at. The rest of the explanation has the offsets.
_ALARMS: Mapping[Word, str] = {
    Word.CORRUPT: "a log is damaged, or a leader epoch was issued twice: compare the segments of {} (kafka-dump-log.sh)",
    Word.CONTRADICTED: "what is proven committed contradicts the ISR history: find out why before you believe either",
    Word.BELOW_HIGH_WATERMARK: "its election loses records that are proven committed: bring back a replica that holds them, or accept that loss",
}
_TRANSACTIONS = "Open transactions may hang if __transaction_state loses records: read what its election loses"


def remedy(decision: Decision, cluster: ClusterHeader) -> str | None:
    """Return why a partition is held and what to do, None if it is not held."""
    if decision.reason is None:
        return None
    advice = REASONS[decision.reason]
    return f"held: {advice if isinstance(advice, str) else advice(decision, cluster)}"


def _aggressive(decision: Decision, effect: str) -> str:
    """Return what the strategy aggressive does with the partition, and whether it must be named for that."""
    must_be_named = decision.word in ALARMING or decision.evidence.topic in ELECTED_IF_NAMED
    return f"Strategy aggressive {effect}{f', but only {IF_NAMED}' if must_be_named and not decision.state.named else ''}"


def _stop_first(decision: Decision) -> str:
    """Return which brokers to stop before the strategy aggressive elects: what they hold is not known, and they would truncate it unsaved."""
    brokers = [log.broker_id for log in decision.evidence.logs if log.may_hold_more and not log.answered]
    disks = plural(len(brokers), "its disk", "their disks")
    return f". Before that, stop {broker_list(brokers)}: {disks} can then be saved (playbook rescue)" if brokers else ""


def _repairs(logs: Collection[Log]) -> Iterator[str]:
    """Yield how these replicas become readable, or electable: they are lost, coming back or silent."""
    returning = [log.broker_id for log in logs if log.broker_state == COMING_BACK]
    cut_off = [log.broker_id for log in logs if log.answered and log.read_from_disk_at is None and log.broker_id not in returning]
    disks = [log.broker_id for log in logs if log.disk_failed]
    refusing = [log.broker_id for log in logs if log.error == READ_REFUSED]
    silent = [log.broker_id for log in logs if log.silent and log.broker_id not in refusing]
    others = [log.broker_id for log in logs if log.broker_id not in (*cut_off, *disks, *refusing, *silent, *returning)]
    if returning:
        yield f"wait for {broker_list(returning)} to come back"
    if refusing:
        yield f"grant READ on the topic ({broker_list(refusing)} {plural(len(refusing), 'refuses', 'refuse')} to show its records)"
    if silent:
        yield f"repair {broker_list(silent)} (alive, but {plural(len(silent), 'does', 'do')} not answer for this partition)"
    if cut_off:
        yield f"repair the connection of {broker_list(cut_off)} to the controllers ({plural(len(cut_off), 'it answers', 'they answer')})"
    if disks:
        yield f"bring the {plural(len(disks), 'disk', 'disks')} of {broker_list(disks)} back"
    if others:
        yield f"start or repair {broker_list(others)}, with {plural(len(others), 'its disk', 'their disks')}"


def _alarms(decision: Decision) -> str:
    """Return why the partition must be named."""
    brokers = sorted({broker for pair in decision.corrupt for broker in (pair.broker_a, pair.broker_b)})
    alarm = _ALARMS.get(decision.word)
    transactions = _TRANSACTIONS if decision.evidence.topic in ELECTED_IF_NAMED else None
    return ". ".join(text for text in (alarm and alarm.format(broker_list(brokers)), transactions) if text)


def _alarm(decision: Decision, _cluster: ClusterHeader) -> str:
    return f"{_alarms(decision)}. {_aggressive(decision, 'elects it')}"


def _must_be_named(decision: Decision, _cluster: ClusterHeader) -> str:
    return f"{_alarms(decision)}. It is elected only {IF_NAMED}"


def _wait_for_clean_leader(decision: Decision, cluster: ClusterHeader) -> str:
    broker = decision.waiting_for[0][0]
    doubt = doubt_about(broker, decision.evidence, decision.state, cluster.elr)
    then = f"then elects broker {broker} by itself" if doubt is None else f"may then elect broker {broker} by itself: {doubt}"
    silent = any(log.silent for log in decision.evidence.logs if log.broker_id == broker)
    # A live broker that could lead would have been elected already, so to wait may not be enough.
    repair = f". If it stays so, repair broker {broker} or its disk" if silent else ""
    return f"wait, the controller {then}{repair}. Strategy aggressive does not wait{_stop_first(decision)}"


def _wait_for_elr(decision: Decision, _cluster: ClusterHeader) -> str:
    """Return what brings each member back. The strategy balanced waits only for what may be read or repaired soon."""
    unheard = decision.evidence.unheard
    logs = [log for log in decision.evidence.logs if log.broker_id in unheard]
    steps = ", and ".join(_repairs(logs)) or f"start {broker_list(unheard)}"
    may_hold_more = {row.other.broker_id for row in decision.fenced if not follows(row)}
    waits = any(log.silent or log.broker_state == COMING_BACK or log.broker_id in may_hold_more for log in logs)
    balanced = "" if waits or decision.winner is None else ". Strategy balanced does not wait for that"
    return f"strategy kip966_balanced waits for every member of ISR, ELR and last known ELR: {steps}{balanced}"


def _no_survivor(decision: Decision, _cluster: ClusterHeader) -> str:
    steps = ", or ".join(_repairs(decision.evidence.logs)) or "start a broker that holds a replica"
    return f"no replica is on a live broker that answers: {steps}. Read the disk of a lost broker before it starts (playbook rescue)"


def _ahead_of_controller(decision: Decision, _cluster: ClusterHeader) -> str:
    known = decision.state.leader_epoch
    ahead = " and ".join(
        f"broker {log.broker_id} has leader epoch {log.newest_epoch}" for log in decision.evidence.logs if log.newest_epoch > known
    )
    survivors = any(log.newest_epoch > known for log in decision.evidence.logs if log.broker_state == UNFENCED)
    if decision.winner is None:
        effect = "No strategy elects it: no replica is on a live broker that answers"
    elif survivors and not decision.state.named:
        effect = f"Strategy aggressive elects it, but only {IF_NAMED}"
    else:
        # What fenced brokers hold does not hold an election back under this strategy.
        effect = _aggressive(decision, "elects it" if survivors else "elects it, and gives up what the fenced brokers hold")
    return (
        f"{ahead}, the controller {known}, as after a metadata quorum that was rebuilt: collect the evidence again, and if it stays so, do not trust "
        f"comparisons by epoch. {effect}"
    )


def _fenced_broker_holds_more(decision: Decision, _cluster: ClusterHeader) -> str:
    rows = [row for row in decision.fenced if not follows(row)]
    more, disks = (
        [row.other.broker_id for row in rows if (row.other.read_from_disk_at is not None) == on_disk] for on_disk in (False, True)
    )
    steps = []
    if more:
        them, they = plural(len(more), "it", "them"), plural(len(more), "it", "they")
        steps.append(f"repair the connection of {broker_list(more)} to the controllers, or stop {them} if {they} will not come back")
    if disks:
        its = plural(len(disks), "its disk", "their disks")
        steps.append(f"start {broker_list(disks)} with {its}, or save {its} after the election and before that (kafka_lost_disk_records)")
    effect = _aggressive(decision, plural(len(rows), "gives its offsets up", "gives their offsets up"))
    return f"{', and '.join(steps)}, and collect the evidence again. {effect}"


def _forked(decision: Decision, _cluster: ClusterHeader) -> str:
    """Return the ways to a proof first. What an election gives up is the last of them."""
    steps = [*_repairs(decision.unread)]
    if decision.evidence.history is None:
        steps.append("set kafka_controller_bootstrap_servers (the ISR history may prove a branch)")
    first = f": {', or '.join(steps)}" if steps else ""
    return f"nothing proves which branch is committed{first}. {_aggressive(decision, f'gives up {_given_up(decision)}')}"


def _forked_proven(decision: Decision, _cluster: ClusterHeader) -> str:
    steps = ", or ".join(_repairs(decision.unread))
    first = f": {steps}" if steps else ""
    effect = _aggressive(decision, f"elects the proven branch and gives up {_given_up(decision)}")
    return f"one branch is proven committed, the other may hold committed records, too{first}. {effect}"


def _given_up(decision: Decision) -> str:
    """Return what other logs hold beyond their fork from the winner's. A fork of two logs which both seem to be prefixes of it has no such offsets."""
    if len(decision.tails) != 1:
        return "what the plan lists under truncated" if decision.tails else "one of two branches"
    row = decision.tails[0]
    return f"broker {row.other.broker_id}'s offsets {row.common_offset} to {row.other.end - 1}"


def _weak(decision: Decision, _cluster: ClusterHeader) -> str:
    return (
        f"which log is best is not known without the last-written epoch of {broker_list(decision.unwritten)}: repair what probe_error in the landing "
        f"file names, and collect the evidence again. {_aggressive(decision, 'elects the best by what is known')}"
    )


def _incomplete(decision: Decision, _cluster: ClusterHeader) -> str:
    if decision.evidence.defects:
        return "no strategy elects on evidence that is damaged or contradicts itself: collect it again. If it stays so, designate the leader by hand"
    unread = [log for log in decision.evidence.logs if log.silent or log.broker_state == COMING_BACK]
    steps = [*_repairs(unread), *_comparison(decision)]
    without = ""
    if decision.evidence.offsets_unread:
        steps.append(
            "make the committed offsets of consumer groups readable, which may prove a branch of the fork (recover partitions of __consumer_offsets "
            "that have no leader first, let groups load, grant DESCRIBE on them)"
        )
        without = ". If these offsets are lost for good, a leader designated by hand is elected without them"
    return f"{', and '.join(steps)}, then plan again{without}. {_aggressive(decision, 'elects without that')}{_stop_first(decision)}"


def _comparison(decision: Decision) -> Iterator[str]:
    """Yield what helps logs that could not be compared. The explanation has the reason of each."""
    brokers = [row.other.broker_id for row in decision.uncompared if row not in decision.gaps]
    brokers = [*dict.fromkeys((*brokers, *(broker for broker, _ in decision.failed)))]
    if brokers:
        yield (
            f"remove the reason why the {plural(len(brokers), 'log', 'logs')} of {broker_list(brokers)} could not be compared (raise "
            "kafka_recovery_duration, correct cleanup.policy, or grant the permissions that preflight names)"
        )


def _retention_gap(decision: Decision, _cluster: ClusterHeader) -> str:
    best, gaps = decision.ranked[0], [row.other for row in decision.gaps]
    where = ", ".join(_gap(best, other) for other in gaps)
    hint = "" if decision.evidence.history else " (the plan states it with kafka_controller_bootstrap_servers)"
    lost = " and ".join(f"broker {log.broker_id} deletes its log (offsets {log.log_start_offset or 0} to {log.end - 1})" for log in gaps)
    return (
        f"{where}: what came before was deleted, by retention or DeleteRecords. So no comparison shows whether they are of one history, and none "
        f"will. Find out which of these brokers left the ISR last{hint}: the log of the other is old, and retention would have deleted it. "
        f"{_aggressive(decision, f'elects broker {best.broker_id}, and {lost}')}. To elect another one, designate it by hand"
    )


def _tiered_storage(decision: Decision, _cluster: ClusterHeader) -> str:
    log = decision.ranked[0]
    if decision.evidence.topic == REMOTE_LOG_METADATA:
        cost = "committed records of it say which segments remote storage has, and brokers do not find segments whose records are lost"
    else:
        cost = (
            f"the topic has tiered storage: remote storage may have committed records that the log of broker {log.broker_id} (to offset {log.end}) does not "
            "hold, and with this leader no consumer finds them there"
        )
    steps = [*_repairs(decision.unread)]
    if decision.unread:
        steps.append("read the disk of a lost member of the ISR or ELR (it may prove that nothing is missing)")
    if decision.evidence.history is None:
        steps.append("set kafka_controller_bootstrap_servers (the ISR history may prove it)")
    first = f". Nothing proves the contrary: {', or '.join(steps)}" if steps else ". Nothing proves the contrary"
    return f"{cost}{first}. {_aggressive(decision, 'elects without a proof')}"


def _reassignment_in_progress(decision: Decision, _cluster: ClusterHeader) -> str:
    return f"{CANNOT_COMPLETE}: {end_reassignment(decision.state.isr, decision.ranked[0].broker_id if decision.ranked else None)}, then plan again"


def _gap(one: Log, other: Log) -> str:
    before, after = sorted((one, other), key=lambda log: log.log_start_offset or 0)
    return f"the log of broker {before.broker_id} ends at offset {before.end}, and that of broker {after.broker_id} starts at offset {after.log_start_offset}"


# By the code of the reason.
REASONS: Mapping[str, str | Callable[[Decision, ClusterHeader], str]] = {
    "cluster_metadata": "the metadata log elects its own leader, this tool never touches it",
    "strategy_none": "strategy none elects nothing",
    "wait_for_clean_leader": _wait_for_clean_leader,
    "no_survivor": _no_survivor,
    "must_be_named": _must_be_named,
    "reassignment_in_progress": _reassignment_in_progress,
    "ahead_of_controller": _ahead_of_controller,
    "wait_for_elr": _wait_for_elr,
    "fenced_broker_holds_more": _fenced_broker_holds_more,
    "forked": _forked,
    "forked_proven": _forked_proven,
    "contradicted": _alarm,
    "corrupt": _alarm,
    "incomplete": _incomplete,
    RETENTION_GAP: _retention_gap,
    "weak": _weak,
    "tiered_storage": _tiered_storage,
    "below_high_watermark": _alarm,
}
