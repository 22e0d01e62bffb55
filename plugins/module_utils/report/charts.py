# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The charts of the report page: which rows they show, and how they are labelled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    from markupsafe import Markup

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import page_context, svg
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.recovery_queries import OUTCOME_LABELS, SHOWN_FIRST


def charts(doc: Mapping[str, Any]) -> dict[str, Any]:
    """Return each chart of the page as SVG (`wide` and `narrow`), and its legend (column → label), from the report's document."""
    clusters = [{"cluster": row["cluster"], **row["outcomes"]} for row in doc["clusters"] if row["partitions"]]
    outcomes = {key: OUTCOME_LABELS[key] for key in SHOWN_FIRST if doc["totals"]["outcomes"][key]}
    kinds: Sequence[Mapping[str, Any]] = [
        {**row, "risk": page_context.RISK_TITLES.get(row["risk"], row["risk"])} for row in page_context.kinds(doc)
    ]
    lines = {"offline": "offline", "one_failure": "one failure from offline"}
    return {
        "outcomes": _both(svg.bars, clusters, "cluster", outcomes, "Partitions by outcome, one bar per cluster"),
        "outcome_legend": outcomes,
        "risks": _both(svg.bars, kinds, "risk", {"partitions": "partitions"}, "Partitions by risk"),
        "risk_legend": {"partitions": "partitions in the newest snapshots"},
        "trend": _both(svg.days, doc["trend"], lines, "Partitions offline and one failure from offline, day by day"),
        "trend_legend": lines,
    }


def _both(draw: Callable[..., str], *arguments: Any) -> dict[str, Markup]:
    """Return a chart for a wide and a narrow screen, of which the style sheet shows one. Empty without rows."""
    found = {name: draw(*arguments, width=width) for name, width in (("wide", svg.WIDE), ("narrow", svg.NARROW))}
    return {name: Markup(chart) for name, chart in found.items() if chart}
