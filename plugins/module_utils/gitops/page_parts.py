# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the parts of the page for reviewers have in common. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.markdown import code, table, text
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, spaced

Document = Mapping[str, Any]
Row = Mapping[str, Any]
T = TypeVar("T")

MIN_ROWS = 5  # of a cluster, even if many clusters share the page


def facts(document: Document, also: Mapping[str, str]) -> list[str]:
    """Return a table that shows which file was reviewed. `also`: more rows, as Markdown by name."""
    names = ("cluster_id", "plan_id", "sha256", "created_at")
    rows = [*([text(spaced(name)), code(str(document[name]))] for name in names), *([text(name), value] for name, value in also.items())]
    return table(["", ""], rows)


def limited(rows: Sequence[T], most: int, clusters: int) -> Sequence[T]:
    """Return the rows that the page shows of one cluster. `most`: of the page; `clusters`: how many share it."""
    return rows[: max(MIN_ROWS, most // clusters)]


def more(left: int, kind: str, name: str) -> list[str]:
    """Return lines that say how many rows are only in the file `name`, none if there are no more."""
    return ["", f"and {count(left, f'more {kind}')} in [{text(name)}]({name})"] if left > 0 else []
