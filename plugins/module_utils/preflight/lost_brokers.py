# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option for permanently lost brokers: one list for every cluster, or a mapping from cluster to its own list. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import SequenceMatcher, get_close_matches
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import LOST_BROKERS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import BROKER

LostBrokers = list[int] | dict[str, list[int]]


def parse(value: Any, clusters: Collection[str] | None, option: str) -> LostBrokers:
    """Return the ids as integers: a sorted list, or a sorted list for each cluster of a mapping.

    `clusters`: the names that a mapping may have, None for any. `option`: its name in errors. Raises RecoveryError for a value that is not
    a list of broker ids or such a mapping, and for an unknown cluster.
    """
    if not isinstance(value, Mapping):
        return _ids(value, option)
    named = {str(cluster): _ids(ids, f"{option} of {cluster}") for cluster, ids in value.items()}
    for cluster in sorted(named.keys() - set(named if clusters is None else clusters)):
        nearest = _nearest(cluster, clusters or ())
        raise RecoveryError(
            f"{option} names an unknown cluster, {cluster}: "
            + (f"did you mean {' or '.join(nearest[:3])}?" if nearest else f"the clusters are {', '.join(sorted(clusters or ()))}")
        )
    return named


def _nearest(cluster: str, clusters: Collection[str]) -> list[str]:
    """Return the names that are nearest to `cluster`, sorted; empty if none is near."""
    near = get_close_matches(cluster, clusters, n=max(1, len(clusters)))
    ratios = {name: SequenceMatcher(None, name, cluster).ratio() for name in near}
    return sorted(name for name, ratio in ratios.items() if ratio == max(ratios.values()))


def of_cluster(value: Any, cluster: str, clusters: Collection[str]) -> list[int] | None:
    """Return the lost brokers of one of the inventory's `clusters`: empty if none is lost, None if the value does not mention the cluster.

    Raises RecoveryError as `parse` does.
    """
    if value in ("", None):
        return None
    found = parse(value, clusters, LOST_BROKERS)
    return found.get(cluster) if isinstance(found, dict) else found


def _ids(value: Any, option: str) -> list[int]:
    """Return the ids in `value`, in any form that Ansible accepts as a list of integers: a list, one number, or numbers with commas."""
    parts = value.split(",") if isinstance(value, str) and value.strip() else [] if value in ("", None) else value
    if isinstance(parts, int):
        parts = [parts]
    if not isinstance(parts, list | tuple) or any(isinstance(part, bool) for part in parts):
        raise _not_a_list(value, option)
    try:
        ids = [int(str(part)) for part in parts]
    except ValueError:
        raise _not_a_list(value, option) from None
    for broker in ids:
        if not BROKER.low <= broker <= BROKER.high:
            raise RecoveryError(f"{option}: {broker} cannot be the id of a broker; name ids from {BROKER.low} to {BROKER.high}")
    return sorted(set(ids))


def _not_a_list(value: Any, option: str) -> RecoveryError:
    example = '-e \'{"kafka_recovery_lost_brokers": {"CLUSTER": [1, 2]}}\''
    return RecoveryError(f"{option} is {value!r:.80}: give a list of broker ids, or a list for each cluster, for example {example}")
