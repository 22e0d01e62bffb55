#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check that the inventory has clusters, and that their variables can be read."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_inventory_info
short_description: Check that the inventory has clusters, and that their variables can be read
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Fails if the inventory has no cluster. Ansible skips a play on a group without hosts and exits with 0, which must not look like a recovery.
  - Fails if variable files or secrets of the clusters cannot be read, for example because Ansible Vault is locked. Ansible reads variables only when a task
    needs them, so a run would end in the middle.
  - Fails if C(kafka_recovery_serial) of the first cluster is not a number of clusters, a percentage, or a list of these.
  - Contacts no broker, and changes nothing. The first play of every playbook uses it.
options:
  clusters:
    description: The clusters (inventory host names) of the run, whose variables are read.
    type: list
    elements: str
    required: true
  group:
    description: The inventory group of the clusters.
    type: str
    default: kafka_clusters
extends_documentation_fragment:
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
"""

EXAMPLES = r"""
- name: Validate the inventory
  streamops.kafka_recovery.kafka_recovery_inventory_info:
    clusters: "{{ groups['kafka_clusters'] | default([]) }}"
"""

RETURN = r"""
clusters:
  description: The clusters whose variables were read.
  returned: success
  type: list
  elements: str
  sample: [east, west]
"""

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule

ARGUMENTS = {
    "clusters": {"type": "list", "elements": "str", "required": True},
    "group": {"type": "str", "default": "kafka_clusters"},
}


def main() -> None:
    """Fail: the action plugin of the same name does the work, because a module cannot read the inventory."""
    module = PrintableModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    module.fail_json(msg="kafka_recovery_inventory_info needs its action plugin: name it with the collection, streamops.kafka_recovery")


if __name__ == "__main__":
    main()
