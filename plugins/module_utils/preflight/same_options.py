# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the plan options of clusters: one plan run serves all clusters of a play, with the options of one of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PREFIX = "kafka_recovery_"


def recorded(fact: str, task_vars: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the options that the clusters of this batch have recorded in a fact, by cluster. Empty outside of the role that records them.

    task_vars  the variables that Ansible passes to an action plugin
    """
    variables = task_vars.get("hostvars") or {}
    options = {cluster: variables[cluster].get(fact) for cluster in task_vars.get("ansible_play_batch") or ()}
    return {cluster: own for cluster, own in options.items() if own is not None}


def difference(wanted: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return which options are not the same for all clusters, and how to run them. None if all are the same.

    wanted  the options of each cluster, by name, without PREFIX
    The text has no value: an option may contain a secret by mistake.
    """
    if not wanted:
        return None
    first = next(iter(wanted.values()))
    names = dict.fromkeys(name for options in wanted.values() for name in options)
    different = [name for name in names if any(name not in own or own[name] != first.get(name) for own in wanted.values())]
    if not different:
        return None
    alike = [cluster for cluster, options in wanted.items() if options == first]
    return (
        f"The clusters of one run have one plan and approval, but {', '.join(PREFIX + name for name in different)} {'is' if len(different) == 1 else 'are'} "
        f"not the same for all of them.\nRun clusters with the same values together: first --limit {','.join(alike)}, then the others"
    )
