#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check the variables, libraries, Java and files that a play needs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_options_info
short_description: Check variables, libraries, Java and files before a broker is contacted
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Checks the variables of all clusters of a play as the inventory has them, and the machine on which the modules run.
  - A variable whose name begins with C(kafka_recovery_) and that this collection does not have is a problem, and so is a near miss of a connection variable
    such as C(kafka_bootstrap_server). Other variables that begin with C(kafka_) are ignored.
  - Values are checked against the documentation of the roles. A value that cannot be read yet, because its template needs another variable, is not checked.
  - If the workdir is in an object store, an object of it is read there, which shows that the store answers and accepts the credentials.
  - Contacts no broker, and changes nothing. The role P(streamops.kafka_recovery.preflight#role) uses it first.
  - The task fails if something is wrong for every cluster, with all problems in one message. Problems of some clusters only are returned. Those of clusters
    that are not of this batch are shown as warnings, too.
  - Libraries, Java and files are checked for clusters with connection local. For others the modules run on another machine.
options:
  clusters:
    description: The clusters (inventory host names) whose variables are checked. Default is the host of the task.
    type: list
    elements: str
  roles:
    description: Roles of this collection that the play uses, without its name. Default is those of the play.
    type: list
    elements: str
  apply:
    description: Whether the play applies the plans in C(kafka_recovery_plan_dir).
    type: bool
    default: false
  gitops:
    description:
      - Whether the play proposes plans in a git repository, or applies plans that are merged there. Then its options, keys and programs are checked.
      - Default is V(propose) if the role P(streamops.kafka_recovery.propose#role) is among the roles. With O(apply) it is V(apply) for each cluster with
        C(kafka_recovery_require_commit). Else it is neither.
    type: str
    choices: [propose, apply]
  max_failed_clusters:
    description:
      - How many clusters may have failed before a batch starts. The task fails if it is more. Work in progress is never interrupted.
      - Without it failures of earlier batches do not count.
    type: raw
  serial:
    description: Size of the batches, as in C(kafka_recovery_serial). With V(100%), which is one batch, failures do not count.
    type: raw
    default: 100%
extends_documentation_fragment:
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
"""

EXAMPLES = r"""
- name: Check the variables of all clusters before anything is started
  streamops.kafka_recovery.kafka_recovery_options_info:
    clusters: "{{ ansible_play_batch }}"
  register: options
  run_once: true

- name: Show which clusters cannot be recovered
  ansible.builtin.debug:
    msg: "{{ options.problems }}"
"""

RETURN = r"""
run_options:
  description:
    - Command-line arguments that a suggested command must repeat, which are variable files, variables, and options for Ansible Vault.
    - A variable that this collection does not have, or that may be a secret, has the placeholder C(VALUE).
    - So have C(kafka_recovery_partitions) and C(kafka_recovery_partitions_file) if an inventory or a variable file sets them. A suggested command that
      names partitions then uses the same variable, because both together are refused.
  returned: success
  type: list
  elements: str
  sample: [-e, kafka_recovery_strategy=aggressive, --ask-vault-pass]
run_id:
  description: Name of the run, C(kafka_recovery_run_id) or that of an earlier batch of the play. Default is the time in UTC.
  returned: success
  type: str
  sample: 2026-11-21T18-05-00Z
problems:
  description: Problems, each with the C(clusters) that have it.
  returned: success
  type: list
  elements: dict
  sample:
    - text: "kafka_recovery_strategi is not a variable of this collection: did you mean kafka_recovery_strategy?"
      clusters: [east]
"""

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule

ARGUMENTS = {
    "clusters": {"type": "list", "elements": "str"},
    "roles": {"type": "list", "elements": "str"},
    "apply": {"type": "bool", "default": False},
    "gitops": {"type": "str", "choices": ["propose", "apply"]},
    "max_failed_clusters": {"type": "raw"},
    "serial": {"type": "raw", "default": "100%"},
}


def main() -> None:
    """Fail: the action plugin of the same name does the work, because a module cannot read the inventory."""
    module = PrintableModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    module.fail_json(msg="kafka_recovery_options_info needs its action plugin: name it with the collection, streamops.kafka_recovery")


if __name__ == "__main__":
    main()
