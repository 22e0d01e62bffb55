# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role preflight shows: obstacles that stop a recovery, and what does not stop it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import acls
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovery_limits import (
    MAX_OFFLINE_BROKERS,
    MAX_PARTITIONS,
    PARTITIONS,
    ExceededLimit,
    broker_ids,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.obstacles import (
    Kind,
    Obstacle,
    first_obstacle,
    missing_permissions,
    offline_brokers,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.quorum_stability import (
    CHURNING,
    MAJORITY_BEHIND,
    NO_LEADER,
    STABLE,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun

# Their commands need no more variables than these limits.
_REPEATED_PLAYBOOKS = ("recover", "apply", "apply_merged")
_QUORUM_STEPS = {
    NO_LEADER: "start controllers until more than half of the voters run, check their logs (kafka-metadata-quorum.sh describe --status shows which "
    "leader they follow), then run again. Partitions that have a leader stay available meanwhile",
    MAJORITY_BEHIND: "start or repair the voters that are behind, wait until they have caught up, then run again",
}


@dataclass(frozen=True)
class ReadinessPolicy:
    """What the operator allows.

    stages   what the run does, see `acls`
    window   seconds for which the quorum was watched
    planned  whether the run applies a plan that is there already
    """

    stages: Collection[str] = (acls.COLLECT,)
    window: float = 0.0
    planned: bool = False
    allow_data_loss: bool = False
    max_partitions: int = MAX_PARTITIONS
    max_offline_brokers: int = MAX_OFFLINE_BROKERS

    @property
    def most_partitions(self) -> int | None:
        """Return how many partitions may be without a live leader, None for no limit. A plan that is there already holds some of them."""
        return self.max_partitions if self.allow_data_loss and not self.planned else None

    @property
    def most_offline_brokers(self) -> int | None:
        """Return how many brokers may be offline, None for no limit."""
        return self.max_offline_brokers if self.allow_data_loss else None


def obstacles(readiness: Mapping[str, Any], run: PresentRun, policy: ReadinessPolicy) -> list[str]:
    """Return the message that stops the run, in a list; empty if nothing stops it. `readiness`: as `first_obstacle` takes it."""
    obstacle = first_obstacle(readiness, policy.most_partitions, policy.most_offline_brokers)
    return [] if obstacle is None else [_message(obstacle, readiness, run, policy)]


def _message(obstacle: Obstacle, readiness: Mapping[str, Any], run: PresentRun, policy: ReadinessPolicy) -> str:
    match obstacle.kind:
        case Kind.MISSING_PERMISSIONS:
            return permission_obstacle(missing_permissions(readiness), run.cluster, policy.stages)
        case Kind.UNSTABLE_QUORUM:
            return quorum_obstacle(readiness["quorum"], policy.window)
        case Kind.EXCEEDED_LIMITS:
            return limit_obstacle(obstacle.exceeded, offline_brokers(readiness["partitions"]), run)
        case Kind.WRONG_LOST_BROKERS:
            return lost_broker_obstacle(readiness["lost_broker_objections"], run.cluster)
        case Kind.UNREAD:
            return f"Not read from {run.cluster}: {', '.join(obstacle.unread)}. Run again"


def permission_obstacle(missing: Collection[Mapping[str, Any]], cluster: str, stages: Collection[str]) -> str:
    """Return which permissions are missing, and the commands that grant them: two lines for each after the first one."""
    all_topics = acls.REASSIGN not in stages and any(row["stage"] == acls.COLLECT and row["name"] == "*" for row in missing)
    naming = (
        ", or name the partitions to recover (kafka_recovery_partitions), which needs permissions on their topics alone"
        if all_topics
        else ""
    )
    lines = [
        f"On {cluster} this client lacks permissions that a recovery needs. Ask an administrator of the cluster to run these commands{naming}:"
    ]
    for row in missing:
        lines += [row["remedy"], f"    ({row['operation']} on {row['resource_type'].lower()} {row['name']}: {row['purpose']})"]
    return "\n".join(lines)


def quorum_obstacle(quorum: Mapping[str, Any], window: float) -> str:
    """Return why the metadata quorum stops the run, and the next step: two lines."""
    return (
        f"The metadata quorum is not stable ({quorum['verdict']}), so nothing can be elected safely. "
        f"Seen in {window:g} s: {'; '.join(quorum['reasons'])}\nNext: {_quorum_step(quorum)}"
    )


def _quorum_step(quorum: Mapping[str, Any]) -> str:
    if quorum["verdict"] != CHURNING:
        return _QUORUM_STEPS.get(quorum["verdict"], "run again")
    cause = (
        "The quorum has no pre-vote (KIP-996), so a single unstable voter can cause this: stop or repair it"
        if quorum["pre_vote_supported"] is False
        else "If the leader has just died, wait until there is a new leader. If voters are being changed, wait until the change ends"
    )
    return f"find out which controller forces elections (network, long pauses, controller.quorum.fetch.timeout.ms), then run again. {cause}"


def limit_obstacle(exceeded: Collection[ExceededLimit], offline: Collection[int], run: PresentRun) -> str:
    """Return which limits the run exceeds, and the command that raises them. `offline`: ids of the brokers that are not unfenced.

    The module that elects checks again when it knows which partitions are held.
    """
    lines = [_excess(limit, run.cluster, offline) for limit in exceeded]
    return "\n".join([*lines, _raised_command(run, {f"kafka_recovery_{limit.option}": str(limit.needed) for limit in exceeded})])


def _excess(limit: ExceededLimit, cluster: str, offline: Collection[int]) -> str:
    setting = f"and kafka_recovery_{limit.option} is {limit.limit}"
    if limit.option == PARTITIONS:
        return (
            f"{count(limit.needed, 'partition')} of {cluster} {verb(limit.needed, 'has', 'have')} no live leader, {setting}. Check whether the cluster "
            "is unreachable rather than down. To recover that many partitions, raise that limit. To see first how many would be elected and how many "
            "held, run the playbook plan"
        )
    return (
        f"{count(limit.needed, 'broker')} of {cluster} {verb(limit.needed, 'is', 'are')} offline ({broker_ids(offline)}), {setting}. This looks like a "
        "network partition, not broker loss: the records of these brokers are still there. If the brokers are lost, raise that limit"
    )


def _raised_command(run: PresentRun, raised: Mapping[str, str]) -> str:
    """Return the same command with the lowest sufficient limits. For other playbooks the needed variables are not known."""
    if run.playbook not in _REPEATED_PLAYBOOKS:
        options = "".join(f" -e {name}={value}" for name, value in raised.items())
        return f"The same run with --limit {run.cluster}{options}"
    plans = {"kafka_recovery_plan_dir": run.plan_dir} if run.playbook == "apply" else {}
    variables = {"kafka_recovery_allow_data_loss": "true", **plans, **raised}
    return run.commands.line(run.playbook, run.cluster, variables, run.partitions, run.partitions_file or None)


def lost_broker_obstacle(objections: Collection[str], cluster: str) -> str:
    """Return why the list of lost brokers is wrong: a line for each objection of `kafka_lost_broker_info` after the first line."""
    head = f"kafka_recovery_lost_brokers of {cluster} is wrong, so nothing is elected or moved. Name every broker that is lost for good, and no other:"
    return "\n".join([head, *objections])


def quorum_notes(quorum: Mapping[str, Any]) -> list[str]:
    """Return what can disturb a stable quorum, and what could not be checked. Empty if the quorum is not stable."""
    if quorum["verdict"] != STABLE:
        return []
    disturbing = [f"The metadata quorum is stable, but {sentence}" for sentence in [*quorum["reasons"], *quorum["risks"]]]
    return [*disturbing, *(f"Unknown about the metadata quorum: {sentence}" for sentence in quorum["unknown"])]


def lines(readiness: Mapping[str, Any], run: PresentRun) -> list[str]:
    """Return what a run without obstacles shows. `readiness`: complete, as `kafka_readiness_info` returned it."""
    permissions, partitions = readiness["permissions"], readiness["partitions"]
    selected = bool(run.partitions or run.partitions_file)
    offline = partitions["count"]
    number = f"{offline} of the requested partitions" if selected else count(offline, "partition")
    return [
        f"{number} {verb(offline, 'has', 'have')} no live leader",
        brokers_line(partitions["brokers"]),
        *(f"Optional, improves evidence: {row['remedy']}" for row in permissions["missing"] if not row["required"]),
        *(f"The cluster does not report whether this is granted: {row['operation']}" for row in permissions["unknown"]),
        *quorum_notes(readiness["quorum"]),
    ]


def brokers_line(brokers: Collection[Mapping[str, Any]]) -> str:
    """Return the brokers by state, such as "Brokers fenced: 1, 3; unfenced: 2"."""
    by_state = groupby(sorted(brokers, key=lambda row: str(row["broker_state"])), key=lambda row: row["broker_state"])
    return f"Brokers {'; '.join(f'{state}: ' + ', '.join(str(row['broker_id']) for row in rows) for state, rows in by_state)}"
