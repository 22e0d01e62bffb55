# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a recovery does about a throttle that has expired: it removes it, or says why not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fake_config_cluster import Configurable

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.expired_throttle import Removal, remove
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import RUN, STANDING, Expiry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import RATES, SetRate

RATE = SetRate(1, min(RATES), None, ("1000",))
REMOVED = "Removed the replication throttle that had expired from east: rates of brokers: 1, entries in lists of topics: 0"


def expired(workdir: Path, *owners: str) -> ThrottleJournal:
    """A journal with a standing throttle that has expired, and with those of other `owners`."""
    journal = ThrottleJournal(workdir, "east", "abc")
    with journal:
        journal.record_intent(STANDING, [RATE], [])
        journal.set_expiry(Expiry(60.0, "2020-01-01T00:00:00Z"))
        for owner in owners:
            journal.record_intent(owner, [RATE], [])
    return journal


def removed(workdir: Path, cluster: Any) -> Removal | None:
    @contextmanager
    def opening() -> Iterator[Any]:
        if isinstance(cluster, Exception):
            raise cluster
        yield cluster

    return remove(opening, workdir, "east", "abc")


def test_an_expired_throttle_is_removed_once(tmp_path: Path) -> None:
    cluster = Configurable()
    cluster.brokers[1][RATE.config] = "1000"
    expired(tmp_path)
    assert removed(tmp_path, cluster) == Removal(REMOVED, changed=True)
    assert RATE.config not in cluster.brokers[1]
    assert removed(tmp_path, ClusterError("not to be asked")) is None


def test_without_a_throttle_no_broker_is_asked(tmp_path: Path) -> None:
    assert removed(tmp_path, ClusterError("not to be asked")) is None
    with ThrottleJournal(tmp_path, "east", "abc") as journal:
        journal.record_intent(STANDING, [RATE], [])
    assert removed(tmp_path, ClusterError("not to be asked")) is None, "it stands"


def test_beside_the_throttle_of_a_killed_run_nothing_is_removed(tmp_path: Path) -> None:
    expired(tmp_path, RUN)
    assert removed(tmp_path, ClusterError("not to be asked")) is None


def test_a_throttle_that_cannot_be_removed_does_not_stop_a_recovery(tmp_path: Path) -> None:
    expired(tmp_path)
    problem = removed(tmp_path, ClusterError("broker 3 does not answer"))
    assert problem is not None and not problem.changed
    assert "could not be removed from east: broker 3 does not answer. The next recovery tries again" in problem.text
    silent = Configurable()
    silent.brokers[1][RATE.config] = "1000"
    silent.live = {2, 3, 4}
    problem = removed(tmp_path, silent)
    assert problem is not None and "could not be removed from east: " in problem.text and not problem.changed
