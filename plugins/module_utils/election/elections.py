# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The elections of one run: what they destroy is saved before. An entry of which that is not possible is held."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import backend_elections, designated_election
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.election_limits import ElectionLimits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.saved_tails import (
    NotSaved,
    RecordSaver,
    not_saved,
    unread_logs,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome

ELECT: Mapping[str, backend_elections.Elect] = {
    backend_selection.COMPAT: backend_elections.elect_by_order,
    backend_selection.NATIVE: backend_elections.elect_by_designation,
}


class Elections:
    """The elections of one cluster. `journal`: of changed replica orders, open. `attempts`: how often an election that failed is tried again."""

    def __init__(self, cluster: NativeCluster, journal: Journal, record_saver: RecordSaver, attempts: int, limits: ElectionLimits) -> None:
        self._cluster, self._journal, self._record_saver = cluster, journal, record_saver
        self._attempts, self._limits = attempts, limits

    def save_and_run(self, entries: Sequence[Entry], deadline: float) -> tuple[list[Result], float]:
        """Elect the entries that destroy nothing, save what the others destroy, and elect these. Return results, and the seconds that saving took.

        An entry that is not saved is held. If its partition is not as the plan has it, it has the result that the guards give it.
        """
        risky = [entry for entry in entries if self._record_saver.destroys(entry)]
        keys = {entry.key for entry in risky}
        results = self._run([entry for entry in entries if entry.key not in keys], deadline)
        if not risky or signals.pending_signal():
            return results + self._run(risky, deadline), 0.0
        began = time.monotonic()
        saved, left = self._record_saver.save(risky)
        if signals.pending_signal():
            saved, left = risky, NotSaved([], [])  # `_run` elects nothing any more, and says so
        taken = time.monotonic() - began
        results += self._run(saved, deadline + taken)
        forecast = designated_election.predict(self._cluster, left.changed, self._journal.left_behind()) if left.changed else []
        changed = "its partition was not as the plan has it when its records were to be saved"
        for entry, result in zip(left.changed, forecast, strict=True):
            results.append(not_saved(entry, unread_logs(entry) or changed) if result.outcome == Outcome.ELECTED else result)
        return results + left.held, taken

    def _run(self, entries: Sequence[Entry], deadline: float) -> list[Result]:
        """Elect these entries, and try failed ones again until `deadline` (seconds of the monotonic clock)."""
        if not entries:
            return []
        seconds, elect = max(0.0, deadline - time.monotonic()), ELECT[self._cluster.backend]
        return designated_election.run(
            self._cluster, self._journal, entries, seconds, self._attempts, elect, signals.pending_signal, self._limits.offline_brokers
        )
