# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The next steps for partitions without a leader, as sentences and commands. Roles and report use the same.

Keys of STEPS are the reason codes of held partitions, and the outcomes `planned`, `stale` and `failed`. Their order is that in which steps
are best taken, from the cheapest to the most expensive: wait, bring a disk back, elect, force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import (
    LOST_BROKERS,
    STRATEGY,
    TOPIC_STRATEGIES,
    Playbooks,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import ELECTED_IF_NAMED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

# The code of partitions that a dry run would elect.
PLANNED = "planned"
# {plan} is the path of the cluster's plan. The command is shown next to the sentence.
WAIT = {
    "reassignment_in_progress": "the reassignment cannot complete without a leader: end it as {plan} says, then plan again",
    "unknown_topic_or_partition": "leave the deleted topic out, correct its name, or grant DESCRIBE on it, then plan again",
    "wait_for_clean_leader": "wait for the broker that is coming back: the controller may elect it by itself. Then plan again",
}
DISK = {
    "incomplete": (
        "read in {plan} what is missing: start or repair the brokers that did not answer, or remove the reason why logs could not be compared "
        "(kafka_recovery_duration, cleanup.policy, permissions), then plan again. If evidence contradicts itself and stays so, designate the leader by hand"
    ),
    "fenced_broker_holds_more": (
        "repair the connection of the fenced broker to the controllers, or stop it if it will not come back, or start the lost broker whose disk was read, "
        "then plan again"
    ),
    "wait_for_elr": "do what {plan} says for each broker that is waited for, then plan again",
    "no_survivor": (
        "read the disk of a lost broker that holds a replica (playbook rescue), and start it with that disk: what no other log has may be lost by a start. "
        "Or bring back the failed disk of a broker that runs, or repair the connection of one that runs cut off from the controllers. Then plan again"
    ),
    "cluster_metadata": "check the controllers: they elect the leader of the metadata log among themselves",
}
ELECT = {
    "interrupted": "run again, it goes on where it was stopped",
    "limit_reached": "read which limit the reason names, and raise it if you mean to elect that much, then run again",
    "brokers_disagree": "find out which of the two brokers states wrong replicas, and repair or stop it, then run again",
    "tail_not_saved": (
        "repair what the reason names, or stop a broker whose start does not end and save its disk after the election, then run again. "
        "If that is impossible, give the records up with kafka_recovery_save_records"
    ),
    "no_second_broker": "start another broker, or repair the connection to it (or stop the brokers that do not answer or are still starting), then run again",
    Outcome.STALE: "run again, the cluster has moved on since the evidence was collected",
    Outcome.FAILED: "see the reason, then run again",
    "strategy_none": "plan with the strategy balanced, which elects what loses least",
    "data_loss_not_allowed": (
        "read {plan}, then elect what it designates. Nothing was elected: an unclean election gives up every record that the elected replica does not hold"
    ),
    PLANNED: "read {plan}, then elect what it designates",
}
# A forced election gives up what a lost disk may still hold.
DISKS_FIRST = "first read the disks of the lost brokers (playbook rescue), and start them. If that is impossible, "
FORCE = {
    "ahead_of_controller": (
        "plan again; if it stays, the metadata quorum has lost epochs that it issued: find out how, before you elect the partitions by their names"
    ),
    "must_be_named": (
        "read in {plan} why: a log is damaged, proofs contradict each other, committed records are proven to be lost, or it is __transaction_state. "
        "Then elect the partitions by their names"
    ),
    "weak": (
        DISKS_FIRST
        + "read in {plan} whose last-written epoch could not be read, and repair that. Else force the election of the best log by what is known"
    ),
    "tiered_storage": (
        DISKS_FIRST + "set kafka_controller_bootstrap_servers: the ISR history may prove that a log holds every committed record. "
        "Else copy the partition's segments out of remote storage and force the election, after which no consumer reads what only they hold"
    ),
    "retention_gap": (
        DISKS_FIRST + "read in {plan} which logs have no offset in common, and find out which broker left the ISR last "
        "(kafka_controller_bootstrap_servers). Then force the election of the best log, or designate the leader by hand"
    ),
    "forked_proven": DISKS_FIRST
    + "read in {plan} which branch is proven, then force its election, which truncates the other one (saved before, by default)",
    "forked": (
        DISKS_FIRST + "read in {plan} what each branch holds; the ISR history may prove one of them (kafka_controller_bootstrap_servers). "
        "Else force the election, which truncates what {plan} lists under truncated (saved before, by default)"
    ),
    "contradicted": "what is proven committed and the ISR history name different branches: find out why, before you force the election",
    "corrupt": (
        "compare the segments of the brokers that {plan} names (kafka-dump-log.sh): a disk is damaged, or a leader epoch was issued twice. "
        "Find out which log is right, before you force the election"
    ),
    "below_high_watermark": "bring a better replica back, or give up committed records and force the election",
}
# A forced election cannot be undone, so the commands of FORCE are dry runs.
LOOK_FIRST = ". Look at the dry run first (--check --diff), then run the same without --check --diff"
STEPS = {**WAIT, **DISK, **ELECT, **FORCE}
ANYTHING_ELSE = "run again, the cluster has moved on"

# A run that only reads elects nothing, so a partition that it names is not consented to.
LOOK_AGAIN = (*WAIT, *DISK, "strategy_none")
# These follow the start of a broker. If a command still named it as lost, the run would fail.
AFTER_START = ("wait_for_clean_leader", *DISK)
APPLIED = ("data_loss_not_allowed", PLANNED)
# Their steps begin with the disks of lost brokers.
READ_DISKS = ("no_survivor", *(code for code, step in FORCE.items() if step.startswith(DISKS_FIRST)))
AGGRESSIVE = tuple(code for code in FORCE if code != "must_be_named")
ALLOWED = {"kafka_recovery_allow_data_loss": "true"}
# No playbook of this collection helps there.
WITHOUT_COMMAND = ("cluster_metadata", "unknown_topic_or_partition")


def first_with_step(codes: Iterable[str]) -> str:
    """Return the first of these outcomes or reason codes that has a step, empty if none has."""
    return next((code for code in codes if code in STEPS), "")


def order(code: str) -> int:
    """Return the position of a code's step in STEPS, the cheapest first. Codes without a step come after those of DISK."""
    return list(STEPS).index(code) if code in STEPS else len(WAIT) + len(DISK)


def disks_first(codes: Iterable[str]) -> bool:
    """Return whether the step of these codes begins with the disks of lost brokers (playbook rescue)."""
    return first_with_step(codes) in READ_DISKS


def next_step(codes: Sequence[str], plan: str, require_commit: bool = False) -> str:
    """Return the sentence of the first of these codes that has a step, ANYTHING_ELSE if none has.

    `plan`: path of the plan, for the text. `require_commit`: whether the step's command only proposes a plan, so that no dry run comes first.
    """
    code = first_with_step(codes)
    return STEPS.get(code, ANYTHING_ELSE).format(plan=plan) + (LOOK_FIRST if code in FORCE and not require_commit else "")


def command(codes: Iterable[str], cluster: str, partitions: Sequence[TopicPartition], plan: str | None, playbooks: Playbooks) -> str | None:
    """Return the command line of that step for exactly these partitions of a cluster. None if no playbook helps, or if it must not name them.

    `cluster`: its name in the inventory. `plan`: path of the plan that designates leaders for exactly these partitions, None if there is none.
    """
    code = first_with_step(codes)
    if code in WITHOUT_COMMAND or not partitions:
        return None
    looks_again = code in LOOK_AGAIN
    # To name these topics consents to their loss, so a command that only reads must not name them.
    named = [key for key in partitions if not looks_again or key[0] not in ELECTED_IF_NAMED]
    if not named:
        return None
    if not playbooks.require_commit and code in APPLIED and plan is not None:
        return playbooks.line("apply", cluster, {"kafka_recovery_plan_dir": plan.rpartition("/")[0], **ALLOWED})
    # To name a partition consents to its loss under `aggressive`, which also elects past a clean leader that is coming back. So the strategy of the run
    # is repeated only where the step says what is lost.
    strategy = (
        "aggressive"
        if code in AGGRESSIVE
        else "kip966_balanced"
        if code == "wait_for_elr"
        else ""
        if (looks_again and code != "strategy_none") or code == "must_be_named"
        else "balanced"
    )
    variables = {STRATEGY: strategy} if strategy else {}
    without = [*([] if code == "must_be_named" else [STRATEGY, TOPIC_STRATEGIES]), *([LOST_BROKERS] if code in AFTER_START else [])]
    if playbooks.require_commit or looks_again:
        return playbooks.line("propose" if playbooks.require_commit else "plan", cluster, variables, named, without=without)
    return playbooks.line("recover", cluster, {**variables, **ALLOWED}, named, without=without, dry_run=code in FORCE)


def next_steps(rows: Iterable[tuple[Sequence[str], TopicPartition]], cluster: str, plan: str, playbooks: Playbooks) -> list[dict[str, Any]]:
    """Return one step for each code, the cheapest first, with the keys `code`, `partitions` (count), `step` and `command`.

    rows     the codes of each partition, as for `first_with_step`, and the partition
    cluster  its name in the inventory
    plan     path of the cluster's plan
    """
    groups: dict[tuple[str, bool], list[TopicPartition]] = {}
    for codes, key in rows:
        code = first_with_step(codes)
        # A group of its own, because its command cannot name them.
        groups.setdefault((code, code in LOOK_AGAIN and key[0] in ELECTED_IF_NAMED), []).append(key)
    return [
        {
            "code": code,
            "partitions": len(keys),
            "step": next_step([code], plan, playbooks.require_commit),
            "command": command([code], cluster, keys, plan, playbooks),
        }
        for (code, _unnamed), keys in sorted(groups.items(), key=lambda group: (order(group[0][0]), group[0][1]))
    ]


def advise(
    rows: Iterable[tuple[Sequence[str], TopicPartition]], params: Mapping[str, Any], plan: str | Path, warn: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Return `next_steps` for the options of a module (`params`), and write the files that commands need, also in check mode: a dry run shows them.

    `warn`: gets a sentence if the files cannot be written; then no step has a command.
    """
    commands = Commands(Path(params["workdir"]).expanduser().absolute())
    steps = next_steps(rows, params["cluster"], str(Path(plan).expanduser().absolute()), Playbooks.from_params(params, commands))
    return with_files(steps, commands, warn)


def with_files(rows: list[dict[str, Any]], commands: Commands, warn: Callable[[str], None]) -> list[dict[str, Any]]:
    """Write the files that the `command` of these rows needs, and return the rows. If these cannot be written, `warn` is called, and no row has a command."""
    try:
        commands.write()
    except FileError as error:
        warn(f"no commands for what to do next: {error}")
        return [{**row, "command": None} for row in rows]
    return rows
