#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide whether a plan may be applied unattended, and claim its outages in the ledger."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_incident
short_description: Decide whether a plan may be applied unattended, and keep the ledger of automatic recoveries
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Reads a plan of M(streamops.kafka_recovery.kafka_recovery_plan) and decides whether it may be applied unattended. All of this must be
    true. The evidence of every partition to elect is C(prefix), the plan was made with the strategy C(balanced), the limits below are kept, data loss
    is allowed, and none of these outages was claimed before.
  - Claims are written before anything is elected, to C(<workdir>/incidents/<cluster>/), one file for each outage of a partition. The file name has topic
    id, partition and leader epoch. An outage is claimed only once, whatever the outcome of the run (for the exception
    see O(watcher)). A later outage of the same partition is another outage.
  - Contacts no Kafka cluster and elects nothing. The role P(streamops.kafka_recovery.respond#role) uses it.
options:
  state:
    description:
      - V(claimed) claims the outages of all partitions that the plan elects, or none.
      - V(finished) records the outcomes of the claims of O(run_id), from its results.
    type: str
    choices: [claimed, finished]
    default: claimed
  plan:
    description: Plan file of O(run_id), needed with O(state=claimed).
    type: path
  plan_sha256:
    description:
      - The sha256 that the file O(plan) must have, as C(sha256sum) prints it and M(streamops.kafka_recovery.kafka_recovery_plan) returns it. The task fails
        if the file has another one, because it was replaced since it was made.
    type: str
  incident:
    description: Incident id of the triggering event. Stored in the claim.
    type: str
    default: ""
  watcher:
    description:
      - Event source that sent the triggering event (C(watcher) in the event), if several watch the same clusters.
      - Nothing is claimed if another source has become active since. Claims without an outcome, of a source that is not active any more, are continued once.
    type: str
    default: ""
  allow_data_loss:
    description: Unless V(true), nothing is claimed.
    type: bool
    default: false
  max_partitions:
    description: Nothing is claimed if more partitions than this would be elected.
    type: int
    default: 50
  max_offline_brokers:
    description: Nothing is claimed while more brokers of the cluster than this are offline.
    type: int
    default: 2
  max_per_hour:
    description: Maximum number of automatic recoveries of this cluster within any hour.
    type: int
    default: 3
  max_fleet_per_hour:
    description: Maximum number of automatic recoveries within any hour, of all clusters that share the O(workdir).
    type: int
    default: 10
extends_documentation_fragment:
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.commands
  - streamops.kafka_recovery.attributes
attributes:
  check_mode:
    support: full
    details:
      - Returns the decision, but claims nothing.
      - Commands in RV(next_steps) can need files, which are written to C(<workdir>/commands).
  diff_mode:
    support: none
  idempotent:
    support: partial
    details: An outage is claimed only once, so a second run is refused.
"""

EXAMPLES = r"""
- name: Check whether the plan may be applied unattended
  streamops.kafka_recovery.kafka_recovery_incident:
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    plan: "{{ kafka_recovery_workdir }}/plans/{{ kafka_recovery_run_id }}/{{ inventory_hostname }}.json"
    allow_data_loss: true
  register: incident

- name: Record the outcome in the ledger
  streamops.kafka_recovery.kafka_recovery_incident:
    state: finished
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
"""

RETURN = r"""
automatic:
  description: Whether the plan may be applied. If so, its outages are claimed.
  returned: with O(state=claimed)
  type: bool
  sample: true
reasons:
  description: Reasons why it may not. Each begins with one word and a colon. Empty if it may, or if there is nothing to elect.
  returned: with O(state=claimed)
  type: list
  elements: str
  sample: []
elect:
  description: Number of partitions that the plan would elect.
  returned: with O(state=claimed)
  type: int
  sample: 2
held:
  description: Number of partitions that the plan holds.
  returned: with O(state=claimed)
  type: int
  sample: 0
next_steps:
  description:
    - What to do about the partitions of the plan if it may not be applied unattended, the cheapest step first.
    - C(next_steps[].code) is the reason code of partitions that the plan holds, and V(planned) for those that it elects.
    - C(next_steps[].command) is one line for a shell, for exactly these C(next_steps[].partitions), V(null) if no run helps.
  returned: with O(state=claimed)
  type: list
  elements: dict
  sample: []
claims:
  description: Claims that were made or finished, at most 20 of them.
  returned: success
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 0
      leader_epoch: 4
      outcome: null
ledger:
  description: Directory of the cluster's files.
  returned: success
  type: str
  sample: /var/lib/kafka-recovery/incidents/east
"""

import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import COMMAND_ARGUMENTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import check_inside, safe_name, work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import next_steps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events import auto_recovery_ledger
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.active_watcher import active_watcher
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import workdir_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule, run_and_exit

LIMITS = {"max_partitions": 50, "max_offline_brokers": 2, "max_per_hour": 3, "max_fleet_per_hour": 10}
SHOWN = 20


def claimed(module: AnsibleModule, ledger: auto_recovery_ledger.Ledger, workdir: Path) -> dict[str, Any]:
    """Claim the outages of the plan, or return the reasons why not. RecoveryError if the plan is of another run or cluster."""
    params = module.params
    check_inside(workdir, Path(params["plan"]))
    plan = plan_file.load(params["plan"], params["plan_sha256"])
    if (plan.get("run_id"), plan.get("cluster")) != (params["run_id"], params["cluster"]):
        raise RecoveryError(
            f"{params['plan']} is not the plan of run {params['run_id']} for {params['cluster']}: only the plan of the same run is applied unattended"
        )
    limits = auto_recovery_ledger.AutoRecoveryLimits(**{name: params[name] for name in LIMITS})
    now, watcher = time.time(), params["watcher"]
    wanted = auto_recovery_ledger.claims_of(plan, params["incident"], watcher, now)
    reasons = auto_recovery_ledger.objections(plan, limits, params["allow_data_loss"])
    if wanted and not reasons:
        with ledger.locked(make=not module.check_mode):
            before = ledger.claims()
            wanted = auto_recovery_ledger.with_continued(wanted, before)
            reasons = (
                not_active(workdir, watcher)
                or auto_recovery_ledger.already_claimed(wanted, before)
                or auto_recovery_ledger.rate_limit_violations(params["cluster"], before, limits, now)
            )
            if not reasons and not module.check_mode:
                with signals.critical_section():
                    ledger.take(wanted)
    automatic = bool(wanted) and not reasons
    by_hand = [*(("planned", row) for row in plan["partitions"]), *((row["reason_code"], row) for row in plan["held"])]
    steps = (([code], (row["topic"], row["partition"])) for code, row in by_hand)
    return {
        "automatic": automatic,
        "reasons": reasons,
        "elect": len(wanted),
        "held": len(plan["held"]),
        "next_steps": [] if automatic else next_steps.advise(steps, params, params["plan"], module.warn),
        "claims": rows(wanted if automatic else []),
    }


def not_active(workdir: Path, watcher: str) -> list[str]:
    """Return one reason if the event source that started this run has been replaced, else nothing."""
    if watcher and active_watcher(workdir) != watcher:
        return ["not_active: another event source has become active since this run was started. That one starts its own run"]
    return []


def finished(module: AnsibleModule, ledger: auto_recovery_ledger.Ledger, workdir: Path) -> dict[str, Any]:
    """Record the outcomes of the run's claims in the ledger."""
    if module.check_mode:
        return {"claims": []}
    results = work_file(workdir, "results", module.params["cluster"], module.params["run_id"])
    with ledger.locked(), signals.critical_section():
        return {"claims": rows(ledger.finish(module.params["run_id"], auto_recovery_ledger.outcomes_of(results), time.time()))}


def rows(claims: list[auto_recovery_ledger.Claim]) -> list[dict[str, Any]]:
    """Return the first claims in the form of RETURN."""
    names = ("topic", "partition", "leader_epoch", "outcome")
    return [{name: getattr(claim, name) for name in names} for claim in claims[:SHOWN]]


def recovery_incident(module: AnsibleModule) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    for name in LIMITS:
        if params[name] < 0:
            raise RecoveryError(f"{name} is {params[name]}: it has to be 0 or more")
    for name in ("incident", "watcher"):
        if params[name]:
            safe_name(name, params[name])
    workdir = Path(params["workdir"]).absolute()
    ledger = auto_recovery_ledger.Ledger(workdir, params["cluster"])
    result = (claimed if params["state"] == "claimed" else finished)(module, ledger, workdir)
    return {"changed": False, "ledger": str(ledger.top / params["cluster"]), **result}


def main() -> None:
    """Run the module."""
    module = PrintableModule(
        argument_spec={
            **workdir_arguments(),
            "state": {"type": "str", "choices": ["claimed", "finished"], "default": "claimed"},
            "plan": {"type": "path"},
            "plan_sha256": {"type": "str"},
            "incident": {"type": "str", "default": ""},
            "watcher": {"type": "str", "default": ""},
            "allow_data_loss": {"type": "bool", "default": False},
            **COMMAND_ARGUMENTS,
            **{name: {"type": "int", "default": default} for name, default in LIMITS.items()},
        },
        required_if=[("state", "claimed", ("plan",))],
        supports_check_mode=True,
    )
    run_and_exit(module, lambda: recovery_incident(module))


if __name__ == "__main__":
    main()
