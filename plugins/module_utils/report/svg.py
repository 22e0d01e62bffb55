# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Charts as inline SVG, drawn by pygal. Their colours come from the page's style sheet, for light and dark mode. They have no scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from xml.etree import ElementTree as ET

with suppress(ImportError):  # common.optional_imports names what is missing
    import pygal

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable

# A chart with more bars cannot be read. The table beside it has all rows.
MOST_BARS = 20
_BAR, _FRAME = 30, 46
# Pixels. A chart is not drawn much smaller than it is, so its labels stay readable: screens that are less wide than WIDE get the narrow one.
WIDE, NARROW = 860, 340
_TICKS = 6


def _svg(chart: Any, label: str, classes: Sequence[str]) -> str:
    """Return the chart without pygal's styles, scripts and comments. `classes`: one per series, for the style sheet."""
    root = chart.render_tree()
    for parent in list(root.iter()):
        parent.attrib.pop("id", None)  # several charts share a page
        for child in list(parent):
            if not isinstance(child.tag, str) or child.tag in ("style", "script", "title") or "overlay" in (child.get("class") or ""):
                parent.remove(child)
            elif child.tag == "desc" and child.get("class") == "value":
                # Browsers show a title as a tooltip, without a script.
                child.tag = "title"
            elif child.tag == "desc":
                parent.remove(child)
        for number, name in enumerate(classes):
            own = (parent.get("class") or "").split()
            if f"color-{number}" in own or f"serie-{number}" in own:
                parent.set("class", " ".join([*own, f"of-{name}"]))
    root.set("role", "img")
    root.set("aria-label", printable(label))
    text: str = ET.tostring(root, encoding="unicode")
    return text


def whole_ticks(most: int) -> list[int]:
    """Return the numbers of an axis of counts, from 0 to `most` or beyond: whole ones, in steps of 1, 2 or 5 times a power of 10."""
    step = next(step for power in range(len(str(most)) + 1) for step in (10**power, 2 * 10**power, 5 * 10**power) if step * _TICKS >= most)
    steps = max(1, -(-most // step))
    return [place * step for place in range(steps + 1)]


def _settings(height: int, width: int, most: int) -> dict[str, Any]:
    ticks = whole_ticks(most)
    return {
        "js": [],
        "css": [],
        "no_prefix": True,
        "disable_xml_declaration": True,
        "width": width,
        "height": height,
        "margin": 8,
        "show_legend": False,  # the page has a legend as text
        "show_x_guides": False,
        "truncate_label": 32 if width >= WIDE else 14,
        "value_formatter": lambda value: f"{value:,.0f}",
        "range": (0, ticks[-1]),
        "y_labels": ticks,
    }


def bars(rows: Sequence[Mapping[str, Any]], name: str, series: Mapping[str, str], label: str, width: int = WIDE) -> str:
    """Return horizontal stacked bars, one per row, or an empty text without rows. `name`: key of a row's name; `series`: titles by key of a number.

    The parts have the classes `of-<key>`.
    """
    shown = list(reversed(rows[:MOST_BARS]))
    present = {key: title for key, title in series.items() if any(row[key] for row in shown)}
    if not present:
        return ""
    most = max(sum(row[key] or 0 for key in present) for row in shown)
    chart = pygal.HorizontalStackedBar(**_settings(_FRAME + _BAR * len(shown), width, most))
    chart.x_labels = [printable(str(row[name])) for row in shown]
    for key, title in present.items():
        chart.add(title, [row[key] for row in shown])
    return _svg(chart, label, list(present))


def days(rows: Sequence[Mapping[str, Any]], series: Mapping[str, str], label: str, width: int = WIDE) -> str:
    """Return lines over the days (`date`), or an empty text for fewer than two days. `series`: titles by key of a number."""
    if len(rows) < 2:
        return ""
    most = max(row[key] or 0 for row in rows for key in series)
    chart = pygal.Line(
        show_minor_x_labels=False, show_dots=len(rows) <= 40, include_x_axis=True, **{**_settings(240, width, most), "margin_right": 44}
    )
    chart.x_labels = [row["date"] for row in rows]
    chart.x_labels_major = [row["date"] for row in rows[:: max(1, len(rows) // (6 if width >= WIDE else 2))]]
    for key, title in series.items():
        chart.add(title, [row[key] for row in rows])
    return _svg(chart, label, list(series))
