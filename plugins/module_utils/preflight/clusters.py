# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clusters of an inventory, and the batches of a run. Pure: sentences for the operator."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import verb

BATCH_SIZE = re.compile(r"[1-9][0-9]*%?")
# Ansible's own value for a play without batches.
ALL_AT_ONCE = "100%"


def none_in(group: str) -> str:
    """Return the error for an inventory without clusters."""
    return (
        f"The inventory has no group {group} with one host for each cluster. Give an inventory with -i FILE, for example one with the line "
        f'"east kafka_bootstrap_servers=broker-1.example.com:9092" under [{group}]'
    )


def not_readable(errors: Mapping[str, str]) -> str:
    """Return the error for variables that cannot be read, with the remedy. `errors`: Ansible's error by name, "" for all variables of a cluster."""
    first = next(iter(errors.values()))
    what = "Variables" if "" in errors else ", ".join(errors)
    remedy = (
        "Give the password of Ansible Vault with --ask-vault-pass or --vault-password-file FILE"
        if re.search("vault|decrypt", first, re.IGNORECASE)
        else "Correct the inventory, or its files in group_vars and host_vars"
    )
    return f"{what} of the clusters cannot be read: {first} {remedy}"


def batch_sizes(serial: Any) -> list[str]:
    """Return the batch sizes of `kafka_recovery_serial`: a number, a percentage, a text with commas, or a list."""
    return [str(size) for size in serial] if isinstance(serial, Sequence) and not isinstance(serial, str) else str(serial).split(",")


def invalid_serial(serial: Any) -> str | None:
    """Return the error for a value of `kafka_recovery_serial` that Ansible cannot use, None if there is none."""
    sizes = batch_sizes(serial)
    if sizes and all(map(BATCH_SIZE.fullmatch, sizes)):
        return None
    return (
        f"kafka_recovery_serial is {serial}: it is how many clusters are processed at the same time, or how many percent of them, one number or "
        "several, for example 1,5,50%"
    )


def too_many_failed(failed: Sequence[str], batch: Collection[str], limit: Any, serial: Any, pattern: str | None) -> str | None:
    """Return why a batch of clusters does not start, None if it starts. Work in progress is never interrupted.

    failed   clusters of earlier batches
    limit    kafka_recovery_max_failed_clusters; 0 if it is not a number
    serial   kafka_recovery_serial; without batches nothing is limited
    pattern  --limit of the run, None without
    """
    try:
        allowed = int(limit)
    except (TypeError, ValueError):
        allowed = 0
    if len(failed) <= allowed or str(serial) == ALL_AT_ONCE:
        return None
    return (
        f"{', '.join(batch)} and all later batches do not start, because {', '.join(failed)} failed before, and kafka_recovery_max_failed_clusters is "
        f"{limit}. Fix the cause and run again (what is done is not repeated), exclude the failed clusters with {_exclusion(failed, pattern)}, or continue "
        f"anyway with -e kafka_recovery_max_failed_clusters={len(failed)}"
    )


def not_begun(later: Collection[str], failed: Sequence[str], pattern: str | None) -> str:
    """Return which clusters are not begun after a batch that failed as a whole, and how to continue. `pattern`: --limit of the run, None without."""
    return (
        f"{', '.join(later)} {verb(len(later), 'is', 'are')} not begun, because every cluster of this batch has failed. Fix the cause and run again "
        f"(what is done is not repeated), or exclude the failed clusters with {_exclusion(failed, pattern)}"
    )


def _exclusion(failed: Sequence[str], pattern: str | None) -> str:
    """Return the limit without the failed clusters. The limit of the run is not repeated: it may have any characters."""
    if pattern is None:
        return f"--limit '{':!'.join(['kafka_clusters', *failed])}'"
    return "".join(f"{',' if ',' in pattern else ':'}!{cluster}" for cluster in failed) + " at the end of --limit"
