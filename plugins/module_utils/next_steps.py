# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do next about a partition that has no leader, in words and as a command. The roles and the report say the same.

Keys of STEPS are the words with which the reasons of held partitions begin, and the outcomes `stale` and `failed`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterable, Sequence

TopicPartition = tuple[str, int]

# Placeholders: {plan} is the path of the cluster's plan, {aggressively} the options with which a run elects on weaker evidence.
STEPS = {
    "data_loss_not_allowed": (
        "read {plan}, then run again with -e kafka_recovery_allow_data_loss=true. "
        "Nothing was elected: an unclean election gives up every record that the elected replica does not hold"
    ),
    "planned": "read {plan}, then apply it",
    "wait_for_clean_leader": "wait for the broker that is coming back, then run again; -e kafka_recovery_strategy=aggressive does not wait",
    "forked": (
        "read in the plan what each branch holds; the ISR history may tell which is right (kafka_controller_bootstrap_servers), else run again with "
        "{aggressively}"
    ),
    "forked_proven": "read in the plan which branch is proven, then run again with {aggressively}",
    "contradicted": (
        "what is proven committed and the ISR history name different branches; find out why, or name the partition in kafka_recovery_partitions, with "
        "{aggressively}"
    ),
    "incomplete": (
        "mend the broker that did not answer, or wait for the one that is coming back, and run again; or accept the gap with {aggressively}"
    ),
    "weak": "accept evidence without last-written epochs with {aggressively}",
    "below_high_watermark": (
        "bring a better replica back, or give up committed records by naming the partition in kafka_recovery_partitions, with {aggressively}"
    ),
    "no_survivor": "start a broker that holds a replica, then run again",
    "strategy_none": "run again with -e kafka_recovery_strategy=balanced",
    "must_be_named": "read in the plan what is lost, then name the partition in kafka_recovery_partitions",
    "cluster_metadata": "look at the controllers, they elect the leader of the metadata log among themselves",
    "reassignment_in_progress": "let the reassignment end, or cancel it, then run again",
    "interrupted": "run again, it goes on where it was stopped",
    "stale": "run again, the cluster has moved on since the evidence was gathered",
    "failed": "see the reason, then run again",
}
ANYTHING_ELSE = "run again, the cluster has moved on"

AGGRESSIVE = ("forked", "forked_proven", "contradicted", "weak", "below_high_watermark")
NAMED = ("contradicted", "below_high_watermark", "must_be_named")
# No run of ours helps there.
WITHOUT_COMMAND = ("cluster_metadata",)
# A command line that names more is read by nobody.
MOST_NAMED = 20


def next_steps(words: Collection[str], cluster: str, plan: str) -> list[str]:
    """The steps for these words, in the order of STEPS, each once. Words that call for no step are left out."""
    aggressively = f"--limit {cluster} -e kafka_recovery_strategy=aggressive"
    return [text.format(plan=plan, aggressively=aggressively) for word, text in STEPS.items() if word in words]


def next_step(words: Sequence[str], cluster: str, plan: str) -> str:
    """One step: that of the first of `words` that has one."""
    for word in words:
        if found := next_steps([word], cluster, plan):
            return found[0]
    return ANYTHING_ELSE


def command(words: Iterable[str], cluster: str, partitions: Sequence[TopicPartition], plan: str, propose: bool = False) -> str | None:
    """The command line of that step for these partitions of a cluster, quoted for a shell; INVENTORY is left to the operator. None where no run helps.

    `propose`: of a run that elects nothing and proposes its plans for a merge.

    More than MOST_NAMED partitions are not named: the command is then for all of the cluster's that have no leader, and None where they have to be named.
    """
    known = [word for word in words if word in STEPS]
    word = known[0] if known else ""
    few = 0 < len(partitions) <= MOST_NAMED
    if word in WITHOUT_COMMAND or (word in NAMED and not few):
        return None
    playbook = "propose" if propose else "apply" if word == "planned" else "recover"
    argv = ["ansible-playbook", f"streamops.kafka_recovery.{playbook}", "-i", "INVENTORY", "--limit", cluster]
    if not propose:
        argv += ["-e", "kafka_recovery_allow_data_loss=true"]
    if word == "planned":
        return shlex.join([*argv, "-e", f"kafka_recovery_plan_dir={plan.rpartition('/')[0]}"])
    if word in AGGRESSIVE:
        argv += ["-e", "kafka_recovery_strategy=aggressive"]
    if word == "strategy_none":
        argv += ["-e", "kafka_recovery_strategy=balanced"]
    if few and word in (*AGGRESSIVE, *NAMED):
        rows = [{"topic": topic, "partition": partition} for topic, partition in partitions]
        argv += ["-e", json.dumps({"kafka_recovery_partitions": rows})]
    return shlex.join(argv)
