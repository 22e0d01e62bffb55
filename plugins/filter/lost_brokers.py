# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter lost_brokers."""

from __future__ import annotations

DOCUMENTATION = r"""
name: lost_brokers
short_description: Read which brokers of a cluster are lost
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Reads a list of broker ids that applies to every cluster, or a mapping from cluster to its own list.
options:
  _input:
    description: The list, or the mapping.
    type: raw
    required: true
  cluster:
    description: Inventory host name of the cluster.
    type: str
    required: true
  clusters:
    description: Inventory host names of all clusters. A mapping must not name others.
    type: list
    elements: str
    required: true
positional: cluster, clusters
"""

EXAMPLES = r"""
- name: Show which brokers of this cluster are lost
  ansible.builtin.debug:
    msg: "{{ lost | streamops.kafka_recovery.lost_brokers(inventory_hostname, groups['kafka_clusters']) }}"
  vars:
    lost:
      east: [1, 2]
      west: [4]
"""

RETURN = r"""
_value:
  description:
    - C(brokers), the sorted ids. Empty if none are named.
    - C(named), whether the input names brokers for the cluster. An empty list does, and means that no broker is lost. An empty text does not, and
      neither does a mapping without the cluster.
    - C(objection), the reason why the input is not valid, or an empty text. With an objection C(brokers) and C(named) are missing.
  type: dict
"""

from collections.abc import Callable, Collection
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.lost_brokers import of_cluster


def lost_brokers(value: Any, cluster: str, clusters: Collection[str]) -> dict[str, Any]:
    """Return `brokers` and `named`, or `objection`, as RETURN documents them."""
    try:
        brokers = of_cluster(value, str(cluster), [str(name) for name in clusters])
    except RecoveryError as error:
        return {"objection": str(error)}
    return {"brokers": brokers or [], "named": brokers is not None, "objection": ""}


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter functions by name."""
        return {"lost_brokers": lost_brokers}
