# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of throttles that a broker got and never answered. If it hangs, it may carry them out later, after their removal."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import unanswered_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import BROKER, Resource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.diff import ThrottleCluster


def await_answers(cluster: ThrottleCluster) -> None:
    """Wait until brokers that answer again have carried out such changes. The cluster's `configs_in_doubt` has only the other brokers then.

    If the cluster does not answer, all of them stay in doubt.
    """
    wanted = {broker for brokers in cluster.configs_in_doubt.values() for broker in brokers}
    if not wanted:
        return
    silent = wanted
    with suppress(RecoveryError):
        silent = unanswered_requests.still_silent(cluster, wanted)
    cluster.configs_in_doubt = {resource: rest for resource, brokers in cluster.configs_in_doubt.items() if (rest := brokers & silent)}


def problems(cluster: ThrottleCluster, resources: Collection[Resource]) -> Iterator[str]:
    """Yield a sentence for each of these topics and brokers whose throttle a broker may still change."""
    for resource in sorted(cluster.configs_in_doubt.keys() & {*resources}):
        brokers = ", ".join(map(str, sorted(cluster.configs_in_doubt[resource])))
        what = "its replication rates" if resource.kind == BROKER else f"the throttled replicas of topic {resource.name}"
        yield (
            f"broker {brokers} got a change of {what} and never answered: if it hangs, it may still carry it out, so "
            "they stay recorded; run again when it answers or has been stopped"
        )
