#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Return the permissions (ACLs) that a recovery needs and lacks."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_permission_info
short_description: Find the permissions that a recovery lacks
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Reads what this client may do on the cluster, and names each ACL that a recovery needs and the client lacks, before anything is tried.
  - Reads the authorized operations that brokers report (KIP-430). Changes nothing, and creates nothing.
  - Names as few ACLs as possible. READ and ALTER, for example, include DESCRIBE on the same resource.
  - On a cluster without an authorizer nothing is missing.
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
- name: Find missing permissions before a recovery
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
    - The ACLs to add, the required ones first. Without the others the recovery works with less evidence.
    - C(missing[].name) is C(*) if the ACL must be for all topics or groups, because a hidden topic may have lost its leader, too.
    - C(missing[].remedy) is the command that adds it. It has C(PRINCIPAL) if only the brokers know the principal of this client.
      It has C(PRINCIPAL) or C(NAME), too, in place of a name that cannot be copied unchanged from a terminal into a shell.
  returned: success
  type: list
  elements: dict
  sample:
    - operation: READ
      resource_type: TOPIC
      name: "*"
      stage: collect
      required: true
      purpose: the last batches of survivors' logs
      remedy: kafka-acls.sh --bootstrap-server broker-1.example.com:9093 --command-config ADMIN.properties --add
        --allow-principal User:recovery --operation Read --topic '*'
unknown:
  description: Operations of which the cluster does not report whether they are granted.
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
