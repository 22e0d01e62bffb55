# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replica orders that a killed run has left, as another machine sees them in an object store that it has listed long before."""

from __future__ import annotations

import pytest
from integration.store_clients import Bucket

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import journal_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.journal_file import JournalBusy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import FOLDER, ChangedOrder, Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers import open_orders as module
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.open_orders import open_orders

ORDER = ChangedOrder("orders", 0, "id", (1, 2, 3), (3, 1, 2))


def test_orders_are_open_once_their_run_has_ended_and_to_look_writes_nothing(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_RECOVERY_LEASE_SECONDS", "2")
    source, run = bucket.root(), bucket.root()
    assert open_orders(source, "abc") == {} and bucket.contents() == {}
    with Journal(journal_file(run, FOLDER, "abc"), "abc", "run-1") as journal:
        journal.intend([ORDER], [])
        with pytest.raises(JournalBusy, match="another run works on this cluster"):
            open_orders(source, "abc")
    before = bucket.contents()
    ((key, origin),) = open_orders(source, "abc").items()
    assert key == ("orders", 0) and origin is not None and origin.run_id == "run-1"
    assert bucket.contents() == before
    with Journal(journal.path, "abc", "run-2") as journal:
        journal.settle({})
    assert open_orders(source, "abc") == {}


def test_a_journal_that_is_too_long_is_not_read(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    source, run = bucket.root(), bucket.root()
    with Journal(journal_file(run, FOLDER, "abc"), "abc", "run-1") as journal:
        journal.intend([ORDER], [])
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    keys: list[str] = []
    rule = bucket.gate.ruled(bucket.name, lambda request: keys.append(request.key))
    with rule, pytest.raises(RecoveryError, match="more than 10, and is not read"):
        open_orders(source, "abc")
    assert keys and not [key for key in keys if key.endswith(".jsonl")]
