# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of files that a merge approves. A new kind is one more entry of KINDS, with its format and its part of the page for reviewers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import (
    approved_file,
    moves_file,
    plan_file,
    replays_file,
    revivals_file,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.reviewed_file import ReviewedFormat
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import moves_page, plans_page, replays_page, revivals_page
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode

# Results with these reason codes are not committed: the plan is still to be applied.
STILL_TO_APPLY: Mapping[str, str] = {
    ReasonCode.INTERRUPTED: "it was interrupted; apply it again to continue",
    ReasonCode.DATA_LOSS_NOT_ALLOWED: "data loss is not allowed, so nothing was elected; apply it with -e kafka_recovery_allow_data_loss=true",
}
_DECIDED = ("cluster", "cluster_id", "run_id", "backend", "strategy", "topic_strategies", "ranking")
_ELECTED = ("topic", "partition", "designatedLeader", "replicas_best_first", "evidence", "guards", "loss", "truncated")
_HELD = ("topic", "partition", "reason_code", "evidence", "candidate", "survivors", "loss")


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of file that a merge approves.

    name        as results of modules have it
    folder      of the files, `results`: of their results, `copies`: of the workdir, for private copies of approved files
    noun        for messages, `verb`: what is done with a partition, `done`: that it is done
    parse       returns the checked content of a file; parameters: its bytes, and its name for errors
    essence     returns what a file decides, the same if it is made again from the same
    heading     Markdown lines about all files of the page
    lines       Markdown lines about one file; parameters: its content, and how many files share the page
    unfinished  returns why results do not prove that the file was applied, empty if they do
    """

    name: str
    folder: str
    results: str
    copies: str
    noun: str
    verb: str
    done: str
    parse: Callable[[bytes, str | Path], dict[str, Any]]
    essence: Callable[[Mapping[str, Any]], Any]
    heading: Callable[[Sequence[Mapping[str, Any]]], list[str]]
    lines: Callable[[Mapping[str, Any], int], list[str]]
    unfinished: Callable[[Mapping[str, Any]], str]


def _plan_essence(plan: Mapping[str, Any]) -> Any:
    return plan and [
        [plan.get(key) for key in _DECIDED],
        [[row[key] for key in _ELECTED] for row in plan["partitions"]],
        [[row[key] for key in _HELD] for row in plan.get("held", ())],
    ]


def _unfinished_plan(results: Mapping[str, Any]) -> str:
    codes = {row.get("reason_code") for row in results["partitions"]}
    return next((why for code, why in STILL_TO_APPLY.items() if code in codes), "")


def _reviewed(
    reviewed: ReviewedFormat, results: str, verb: str, done: str, heading: Callable[..., list[str]], lines: Callable[..., list[str]]
) -> Kind:
    """Return the kind of files of a format."""
    noun = reviewed.noun

    def unfinished(document: Mapping[str, Any]) -> str:
        why = f"not all {noun} have ended, or nothing was changed because partitions were refused; apply it again"
        return "" if document.get("complete") is True else why

    return Kind(noun, noun, results, f"merged_{noun}", noun, verb, done, reviewed.parse, reviewed.essence, heading, lines, unfinished)


PLANS = Kind(
    "plan", "plans", "results", "merged", "plan", "elect", "The elections are already done",
    plan_file.parse, _plan_essence, plans_page.heading, plans_page.cluster_lines, _unfinished_plan,
)  # fmt: skip
MOVES = _reviewed(
    moves_file.FORMAT, approved_file.MOVE_RESULTS, "move", "The replicas are already moved", moves_page.heading, moves_page.cluster_lines
)
REVIVALS = _reviewed(
    revivals_file.FORMAT, approved_file.REVIVAL_RESULTS, "revive", "The partitions are already revived",
    revivals_page.heading, revivals_page.cluster_lines,
)  # fmt: skip
REPLAYS = _reviewed(
    replays_file.FORMAT, approved_file.REPLAY_RESULTS, "replay", "The records are already written",
    replays_page.heading, replays_page.cluster_lines,
)  # fmt: skip
# In the order of the page, and in which apply_merged applies them.
KINDS = (PLANS, REVIVALS, REPLAYS, MOVES)
