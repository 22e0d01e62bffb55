#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which permissions (ACLs) a recovery would miss on a cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_permission_info
short_description: Find the permissions that a recovery would miss
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Asks a cluster what this client may do there, and names each ACL that a recovery needs and the client lacks, before anything is tried.
  - Reads the authorized operations that brokers report (KIP-430). Changes nothing, and creates nothing.
  - Names as few ACLs as possible. READ and ALTER, for example, include DESCRIBE on the same resource.
  - A cluster without an authorizer misses nothing.
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.stages
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.backend
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
"""

EXAMPLES = r"""
- name: Look for missing permissions before a recovery
  streamops.kafka_recovery.kafka_permission_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    elect: true
  register: permissions

- name: Show how to grant them
  ansible.builtin.debug:
    msg: "{{ permissions.missing | map(attribute='remedy') }}"
"""

RETURN = r"""
missing:
  description:
    - The ACLs to add, those that are needed first. Without the others the recovery works and knows less.
    - C(missing[].name) is C(*) where it has to hold for all topics or groups, because what is hidden may have lost its leader, too.
    - C(missing[].remedy) is the command that adds it. It says C(PRINCIPAL) where only the brokers know what they call this client.
      It says C(PRINCIPAL) or C(NAME), too, instead of a name that cannot be copied from a screen into a shell as it is.
  returned: success
  type: list
  elements: dict
  sample:
    - operation: READ
      resource_type: TOPIC
      name: "*"
      stage: gather
      required: true
      purpose: the last batches of survivors' logs
      remedy: kafka-acls.sh --bootstrap-server broker-1.example.com:9093 --command-config ADMIN.properties --add
        --allow-principal User:recovery --operation Read --topic '*'
unknown:
  description: Operations that were to be checked, and of which the cluster does not say whether they are granted.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule, partition_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import requested
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import readiness


def permission_info(module: KafkaModule, cluster: NativeCluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    wanted = requested(module.params["partitions"], module.params["partitions_file"])
    return {"changed": False, **readiness.permissions(cluster, module.params, wanted)}


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **partition_arguments(),
            "elect": {"type": "bool", "default": False},
            **readiness.stage_arguments(),
            **backend_selection.BACKEND_ARGUMENTS,
        },
        mutually_exclusive=[("partitions", "partitions_file")],
    )
    module.run(permission_info, opening=NativeCluster)


if __name__ == "__main__":
    main()
