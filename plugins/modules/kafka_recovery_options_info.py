#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether variables, libraries, Java and files are as a play needs them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_options_info
short_description: Check variables, libraries, Java and files before a broker is asked
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Looks at the variables of all clusters of a play as the inventory has them, and at the machine on which the modules run.
  - A variable whose name begins with C(kafka_recovery_) and that this collection does not have is a problem, and so is a near miss of a connection variable
    such as C(kafka_bootstrap_server). Other variables that begin with C(kafka_) are left alone.
  - Values are checked against the documentation of the roles. A value that cannot be read yet, because its template needs another variable, is left out.
  - Asks no broker, and changes nothing. The role P(streamops.kafka_recovery.preflight#role) uses it first.
  - The task fails if something is wrong for every cluster, with all problems in one message. Problems of some clusters only are returned. Those of clusters
    that are not of this batch are shown as warnings, too.
  - Libraries, Java and files are looked at for clusters with connection local, because elsewhere the modules run on another machine.
options:
  clusters:
    description: The clusters (inventory host names) whose variables are checked. By default the host of the task.
    type: list
    elements: str
  roles:
    description: Roles of this collection that the play uses, without its name. By default those of the play.
    type: list
    elements: str
  apply:
    description: Whether the play applies the plans in C(kafka_recovery_plan_dir).
    type: bool
    default: false
  gitops:
    description:
      - Whether the play proposes plans in a git repository, or applies plans that are merged there. Then its options, keys and programs are checked.
      - By default V(propose) if the role P(streamops.kafka_recovery.propose#role) is among the roles, else neither.
    type: str
    choices: [propose, apply]
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
    - Words of the command line that a shown command has to repeat. They name files of variables, variables, and what opens a vault.
    - A variable that this collection does not have, or that may be a secret, has the value C(VALUE), for the reader to fill in.
    - So have C(kafka_recovery_partitions) and C(kafka_recovery_partitions_file) if an inventory or a file of variables sets them. A shown command that names
      partitions then uses the same variable, because both together are refused.
  returned: success
  type: list
  elements: str
  sample: [-e, kafka_recovery_strategy=aggressive, --ask-vault-pass]
problems:
  description: What is wrong, each with the C(clusters) that it is about.
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
}


def main() -> None:
    """Fail: the action plugin of the same name does the work, because a module does not know the inventory."""
    module = PrintableModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    module.fail_json(msg="kafka_recovery_options_info needs its action plugin: name it with the collection, streamops.kafka_recovery")


if __name__ == "__main__":
    main()
