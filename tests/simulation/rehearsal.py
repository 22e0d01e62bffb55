# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run before the first one that must change nothing: in check mode, whose prediction the next undisturbed run keeps, or without allow_data_loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.offline_list import offline_list
from simulation.judges import Judges, name
from simulation.kraft import Key
from simulation.operator import NAME
from simulation.request_script import CHECK, HELD

Rows = Mapping[Key, Mapping[str, Any]]


class Rehearsal:
    """Judges a run that must change nothing, and the next one by it. `kind`: CHECK or HELD."""

    def __init__(self, kind: str, judges: Judges) -> None:
        self._kind, self._judges = kind, judges
        self._written = ("results",) if kind == HELD else ()
        self._before = judges.state(*self._written)
        self._predicted: Rows | None = None
        self._warnings: Sequence[str] = ()

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
        if result is None:
            return
        self._predicted, self._warnings = (_rows(result) if self._kind == CHECK else None), result["warnings"]
        elected = [key for key, row in _rows(result).items() if row["outcome"] == "elected"] if self._kind != CHECK else []
        if elected:
            self._judges.add_violation(f"{name(elected[0])} counts as elected, without allow_data_loss")

    def judge_next(self, result: Mapping[str, Any]) -> None:
        """Judge the next run, if nothing has happened since, by the prediction. How much is to be saved is known only when it is read."""
        is_warned = any("max_saved_" in warning for warning in self._warnings)
        for key, row in _rows(result).items() if self._predicted is not None else ():
            before = (self._predicted or {}).get(key)
            if is_warned and row["reason_code"] == "tail_not_saved":
                continue
            if before is not None and (before["outcome"], before["leader"]) != (row["outcome"], row["leader"]):
                self._judges.add_violation(
                    f"check mode predicts {before['outcome']} of {name(key)} (leader {before['leader']}, {before['reason']}), "
                    f"and it is {row['outcome']} (leader {row['leader']}, {row['reason']})"
                )


def judge_list(judges: Judges, result: Mapping[str, Any]) -> None:
    """Judge the list of partitions without a leader that the playbook shows after a run: it has lines if there are any, each partition counted."""
    offline = [row for row in result["results"] if row["outcome"] in ("held", "stale", "failed")]
    lines = offline_list(NAME, result["results"])
    if bool(lines) != bool(offline) or (lines and f" {len(offline)} partition" not in lines[0]):
        judges.add_violation(f"{len(offline)} partitions have no leader, and the list says {lines}")


def _rows(result: Mapping[str, Any]) -> Rows:
    return {(row["topic"], row["partition"]): row for row in result["results"]}
