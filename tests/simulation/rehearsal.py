# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run before the first one that must change nothing: in check mode, whose prediction the next run keeps if nothing happens, or without allow_data_loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.offline_list import offline_list
from simulation.cluster import SimulatedCluster
from simulation.group_log import GROUP_LOG
from simulation.judges import Judges, name
from simulation.kraft import Key
from simulation.operator import NAME
from simulation.request_script import CHECK, HELD

Rows = Mapping[Key, Mapping[str, Any]]


class Rehearsal:
    """Judges a run that must change nothing, and the next one by it. `kind`: CHECK or HELD. `happened`: returns how many events have done something."""

    def __init__(self, kind: str, judges: Judges, cluster: SimulatedCluster, happened: Callable[[], int]) -> None:
        self._kind, self._judges, self._cluster, self._happened = kind, judges, cluster, happened
        self._written = ("results",) if kind == HELD else ()
        self._before = judges.state(*self._written)
        self._situation = self._seen()
        self._predicted: Rows = {}
        self._has_failed: bool | None = None
        self._warnings: Sequence[str] = ()

    def _seen(self) -> Any:
        """Return what a run decides by, None if brokers or controllers do not stay as they are."""
        cluster, brokers = self._cluster, self._cluster.brokers.values()
        is_settled = all(
            one.running == cluster.controller.alive(one.node_id) and not (one.hangs or one.cut_off or one.unreachable or one.is_registering)
            for one in brokers
        )
        if not is_settled or not cluster.has_controller or cluster.disk_is_full:
            return None
        keys = cluster.without_leader()
        logs = [[one.incarnation, *(one.logs[key].end if key in one.logs else None for key in keys)] for one in brokers]
        return self._happened(), cluster.controller_id, [(key, repr(cluster.controller.partitions[key])) for key in keys], logs

    @property
    def holds(self) -> bool:
        """Return whether the next run, which begins, must keep what this one predicts: nothing has happened since it began."""
        is_prediction = self._kind == CHECK and self._has_failed is not None  # it was not killed
        return is_prediction and self._situation is not None and self._seen() == self._situation

    @property
    def options(self) -> dict[str, bool]:
        """The options of the run."""
        return {"allow_data_loss": self._kind == CHECK, "check_mode": self._kind == CHECK}

    def judge(self, result: Mapping[str, Any] | None) -> None:
        """Judge the run. `result`: of its election, None if it failed."""
        if self._judges.state(*self._written) != self._before:
            self._judges.add_violation(
                f"a run that must change nothing ({self._kind}) has changed the cluster, its journal or saved records"
            )
        self._has_failed = result is None
        if result is None:
            return
        if result["changed"] != any(row["outcome"] == "elected" for row in result["results"]):
            self._judges.add_violation(
                f"changed of a run that must change nothing ({self._kind}) is {result['changed']}: {result['summary']}"
            )
        self._predicted, self._warnings = _rows(result), result["warnings"]
        elected = [key for key, row in _rows(result).items() if row["outcome"] == "elected"] if self._kind != CHECK else []
        if elected:
            self._judges.add_violation(f"{name(elected[0])} counts as elected, without allow_data_loss")

    def judge_next(self, result: Mapping[str, Any] | None, error: str = "") -> bool:
        """Judge the next run by the prediction, if nothing has happened since. Return whether there was something to judge.

        How much is to be saved is known only when it is read, and what committed offsets prove when they can be read: check mode warns of both.
        `result`: None if the run fails, with `error`.
        """
        if self._situation is None or self._happened() != self._situation[0]:
            return False
        if (result is None) != self._has_failed:
            self._judges.add_violation(
                f"check mode predicts that the run {'fails' if self._has_failed else 'ends'}, and it does not: {error}"
            )
        if result is None or self._has_failed:
            return True
        is_warned = any("max_saved_" in warning for warning in self._warnings)
        is_doubtful = any(f"once {GROUP_LOG[0]} has a leader" in warning for warning in self._warnings)
        predicted, rows = self._predicted, _rows(result)
        if predicted.keys() != rows.keys():
            self._judges.add_violation(f"check mode predicts results of {sorted(predicted)}, and there are those of {sorted(rows)}")
        for key in predicted.keys() & rows.keys():
            before, row = predicted[key], rows[key]
            if (is_warned and row["reason_code"] == "tail_not_saved") or (is_doubtful and key != GROUP_LOG):
                continue
            if (before["outcome"], before["leader"]) != (row["outcome"], row["leader"]):
                self._judges.add_violation(
                    f"check mode predicts {before['outcome']} of {name(key)} (leader {before['leader']}, {before['reason']}), "
                    f"and it is {row['outcome']} (leader {row['leader']}, {row['reason']})"
                )
        return bool(predicted)


def judge_list(judges: Judges, result: Mapping[str, Any]) -> None:
    """Judge the list of partitions without a leader that the playbook shows after a run: it has lines if there are any, each partition counted."""
    offline = [row for row in result["results"] if row["outcome"] in ("held", "stale", "failed")]
    lines = offline_list(NAME, result["results"])
    if bool(lines) != bool(offline) or (lines and f" {len(offline)} partition" not in lines[0]):
        judges.add_violation(f"{len(offline)} partitions have no leader, and the list says {lines}")


def _rows(result: Mapping[str, Any]) -> Rows:
    return {(row["topic"], row["partition"]): row for row in result["results"]}
