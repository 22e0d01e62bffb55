# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The events of an event source about replica orders that killed runs have left."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.journal_file import JournalBusy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.outages import orders_not_restored
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.threads import in_thread
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.open_orders import open_orders

logger = logging.getLogger("streamops.kafka_recovery.fleet")


class KilledRuns:
    """Finds out whether killed runs have left replica orders changed on one cluster: after each `restart`, and then every `remind` seconds (0: never).

    `workdir`: None for no look at all.
    """

    def __init__(self, cluster: str, workdir: Path | None, remind: float = 0.0) -> None:
        self._cluster, self._workdir, self._remind = cluster, workdir, remind
        self._problem = ""
        self.restart()

    def restart(self) -> None:
        """Look at the journal again. Whatever it has is sent again: it is not known what became of an event of before."""
        self._cluster_id, self._looked_at = "", 0.0
        self._look: asyncio.Future[Mapping[Any, Any] | None] | None = None
        self._sent: dict[str, tuple[Mapping[Any, Any], float]] = {}  # by cluster id: what, and when

    def events(self, cluster_id: str, now: float) -> list[dict[str, Any]]:
        """Return the event of the look that has ended, or begin one. `now`: seconds since 1970.

        Does not wait: in a store it takes up to the time to live of a lease to know that a run was killed, and outages must be found meanwhile.
        """
        if self._workdir is None:
            return []
        look = partial(self._open_orders, self._workdir, cluster_id)
        if cluster_id != self._cluster_id or (self._look is None and self._is_due(self._looked_at, now)):
            self._cluster_id, self._look = cluster_id, in_thread(look)
        if self._look is None or not self._look.done():
            return []
        found = self._look.result()
        self._look, self._looked_at = in_thread(look) if found is None else None, now
        before, sent_at = self._sent.get(cluster_id, ({}, 0.0))
        if not found or (found == before and not self._is_due(sent_at, now)):
            return []
        self._sent[cluster_id] = found, now
        return [orders_not_restored(self._cluster, cluster_id, len(found), now)]

    def _is_due(self, since: float, now: float) -> bool:
        return 0 < self._remind <= now - since

    def _open_orders(self, workdir: Path, cluster_id: str) -> Mapping[Any, Any] | None:
        """Return what the journal has open, None to look again later."""
        try:
            return open_orders(workdir, cluster_id)
        except JournalBusy:
            return None
        except Exception as error:  # anyone who may write to the workdir may have written the journal
            if str(error) != self._problem:
                logger.error("%s: the journal of replica orders is not used: %s", self._cluster, error)
            self._problem = str(error)
            return None if isinstance(error, (FileError, OSError)) else {}
