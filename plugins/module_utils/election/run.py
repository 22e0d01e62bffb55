# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of `kafka_designated_election`: from its options to its result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.config_admin import ConfigAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kafka_task import KafkaTask
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import check_inside
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import next_steps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.confirmation import Confirmation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.plan_entries import check_origin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import expired_throttle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.apply import Recovery


def designated_election(module: KafkaTask, cluster: NativeCluster) -> dict[str, Any]:
    """Return the result of `kafka_designated_election`, whose options `module` has."""
    params = module.params
    confirmation = Confirmation.parse(params["confirm"]) if params["confirm"] else None
    recovery = _recovery(module, cluster)
    if params["allow_data_loss"]:
        _check_again(module, cluster, recovery)
        if confirmation is not None:
            recovery.require(confirmation)
    # From here on signals are deferred: the work in progress is finished, and the results show how far it got.
    signals.defer_signals()
    if not params["allow_data_loss"]:
        recovery.hold_all()
    elif module.check_mode:
        recovery.predict()
    else:
        recovery.elect()
    if module.connection.controller_bootstrap_servers:
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import controller_elections

        recovery.settle(lambda results: controller_elections.settled(results, cluster, module.connection, params["duration"]))
    recovery.look_at_all_partitions()
    removal = None
    if params["remove_expired_throttle"] and params["allow_data_loss"] and not module.check_mode:
        removal = expired_throttle.remove(lambda: ConfigAdmin(module.connection), module.workdir, params["cluster"], cluster.cluster_id)
    path = "" if module.check_mode else recovery.results.write()
    for warning in [*recovery.warnings, *([removal.text] if removal else [])]:
        module.ansible.warn(warning)
    result = recovery.report(params["preview"])
    rows = recovery.not_elected(dry_run=module.check_mode)
    steps = next_steps.advise(rows, params, params["plan"], module.ansible.warn) if params["plan"] else []
    return {**result, "changed": result["changed"] or bool(removal and removal.changed), "next_steps": steps, "results_path": path}


def _recovery(module: KafkaTask, cluster: NativeCluster) -> Recovery:
    """Return the recovery with what the plan, or the option `partitions`, designates. PlanError for a plan that must not be elected."""
    params = module.params
    if params["plan"]:
        check_inside(module.workdir, Path(params["plan"]))
    plan = plan_file.load(params["plan"], params["plan_sha256"]) if params["plan"] else {}
    if plan:
        check_origin(plan, Path(params["plan"]), module.workdir, params["allowed_strategies"], params["allowed_rankings"])
    _choose_backend(module, cluster, plan.get("backend"))
    recovery = Recovery(
        cluster,
        name=params["cluster"],
        run_id=params["run_id"],
        workdir=module.workdir,
        duration=params["duration"],
        first_answer_seconds=params["first_answer_seconds"],
        max_evidence_rows=params["max_evidence_rows"],
        attempts=params["election_attempts"],
        data_loss_allowed=params["allow_data_loss"],
        check_mode=module.check_mode,
        # What is decided again is not what was confirmed.
        decide_again=params["decide_again"] and not params["confirm"],
        save_records=params["save_records"],
        save_limits=Limits.from_params(params),
    )
    if "plan_id" in plan:
        recovery.take_plan(plan, params["plan"])
    else:
        rows, source = (plan["partitions"], params["plan"]) if plan else (params["partitions"], "option partitions")
        recovery.take_designations(rows, source, module.connection)
    return recovery


def _choose_backend(module: KafkaTask, cluster: NativeCluster, made_with: str | None) -> None:
    """Negotiate the backend of the options, or that of the plan's guards (`made_with`; None without a plan of this collection).

    BackendError if the brokers do not offer it.
    """
    params = module.params
    wanted = params["backend"] if made_with is None else backend_selection.for_plan(params["backend"], made_with, params["plan"])
    try:
        warning = cluster.negotiate_backend(wanted, backend_selection.Numbers.from_params(params))
    except backend_selection.BackendError as error:
        if wanted == params["backend"]:
            raise
        raise backend_selection.BackendError(
            f"{params['plan']} was made with backend {made_with}: {error}; then make the plan again"
        ) from error
    if warning:
        module.ansible.warn(warning)


def _check_again(module: KafkaTask, cluster: NativeCluster, recovery: Recovery) -> None:
    """Collect the evidence again. RecoveryError if the elections exceed a limit, or if the metadata quorum is not stable."""
    params = module.params
    recovery.collect_again(module.connection)
    recovery.keep_within(blast_radius.BlastRadiusLimits.from_params(params))
    if params["quorum_before"]:
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import quorum_stability

        quorum_stability.require_stable_quorum(cluster, params["quorum_before"], params["quorum_window"])
