# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that publishes runs in a history one after the other, each once, and merges files now and then. A test kills it at any time and starts it again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TypeVar

from history_tables import DAY, found, publish

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.catalog import Catalog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.compaction import compact
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.manifest import ConflictError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.schemas import RECOVERY
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.store import PublishedRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.mount import mounted

T = TypeVar("T")
DAYS, CLUSTERS = 5, ("east", "west")


def rows_of(number: int) -> dict[str, list[int]]:
    """Return the rows of a run."""
    return {"replica_log": list(range(number % 4)), "recovery_audit": [number]}


def run_of(writer: str, number: int) -> PublishedRun:
    """Return a run. Both writers write to the same clusters."""
    return PublishedRun(RECOVERY, CLUSTERS[number % len(CLUSTERS)], f"{writer}-{number:04}")


def runs_of(catalog: Catalog) -> set[str]:
    """Return the ids of the runs in the tables."""
    return until_it_is_done(lambda: {run_id for _table, _cluster, _day, run_id, _value in found(catalog)})


def until_it_is_done(act: Callable[[], T]) -> T:
    """Do again, as an operator would, what ends because the other writer is always before it."""
    while True:
        with suppress(ConflictError):
            return act()


def main(url: str, writer: str, runs: int) -> None:
    """Publish those of the runs that are not in the tables."""
    catalog = Catalog(mounted(url).root / "history", grace=5.0, abandoned=5.0)
    present = runs_of(catalog)
    for number in range(runs):
        run = run_of(writer, number)
        if run.run_id not in present:
            until_it_is_done(partial(publish, catalog, {run: (DAY + timedelta(days=number % DAYS), rows_of(number))}))
            print(number, flush=True)
        if number % 10 == 9:
            until_it_is_done(partial(compact, catalog, DAY + timedelta(days=DAYS)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
