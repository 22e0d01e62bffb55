# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits until brokers show throttles that were set or removed: a broker shows a change a moment after the controller has made it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    BROKER,
    TOPIC,
    Resource,
    Settings,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.diff import RateRestore, ThrottleCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    LISTS,
    RATES,
    AddedReplicas,
    SetRate,
    own_value,
    parse_list,
)

VISIBLE_SECONDS, POLL_SECONDS = 10.0, 0.05


def entries(settings: Settings, config: str) -> list[str]:
    """Return the entries of a list of throttled replicas, none if it is not set."""
    return parse_list(settings[config].value) if config in settings else []


def poll_until(holds: Callable[[], bool]) -> bool:
    """Wait until `holds` returns True, at most VISIBLE_SECONDS. Return whether it did."""
    deadline = time.monotonic() + VISIBLE_SECONDS
    while not (held := holds()) and time.monotonic() <= deadline:
        time.sleep(POLL_SECONDS)
    return held


def not_set(cluster: ThrottleCluster, rates: Sequence[SetRate], added: Sequence[AddedReplicas]) -> set[Resource]:
    """Wait until brokers show what was set, so that later reads are not older. Return the brokers and topics that do not show it in time.

    Topics that were deleted are not among them, and neither are brokers that do not answer.
    """
    missing: set[Resource] = set()

    def shown() -> bool:
        found = cluster.broker_configs({rate.broker for rate in rates}, RATES) if rates else {}
        settings = cluster.topic_configs_of({row.topic for row in added}, LISTS) if added else {}
        missing.clear()
        missing.update(
            Resource(BROKER, str(rate.broker))
            for rate in rates
            if rate.broker in found and own_value(found[rate.broker], rate.config) != rate.values[-1]
        )
        missing.update(
            Resource(TOPIC, row.topic)
            for row in added
            if row.topic in settings and not {*row.entries} <= {*entries(settings[row.topic], row.config)}
        )
        return not missing

    poll_until(shown)
    return missing


def not_removed(cluster: ThrottleCluster, rates: Sequence[RateRestore], added: Collection[AddedReplicas]) -> set[int]:
    """Wait until brokers show that these rates and entries are removed. Return the brokers that still show another rate.

    Lists are read once more when they are deleted. Raises ClusterError if the cluster does not answer.
    """
    stay: set[int] = set()

    def shown() -> bool:
        found = cluster.broker_configs({row.layers[0].broker for row in rates}, RATES) if rates else {}
        settings = cluster.topic_configs_of({row.topic for row in added}, LISTS) if added else {}
        firsts = [(row, row.layers[0]) for row in rates]
        stay.clear()
        stay.update(
            first.broker for row, first in firsts if first.broker in found and own_value(found[first.broker], first.config) != row.after
        )
        return not stay and not any({*row.entries} & {*entries(settings[row.topic], row.config)} for row in added if row.topic in settings)

    poll_until(shown)
    return stay
