# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of throttles share: a journal, and no waiting."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import visible_configs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait until brokers show a change."""
    monkeypatch.setattr(visible_configs, "VISIBLE_SECONDS", 0.0)
    monkeypatch.setattr(visible_configs, "POLL_SECONDS", 0.0)


@pytest.fixture
def journal(tmp_path: Path) -> ThrottleJournal:
    """Return the journal of a workdir without throttles."""
    tmp_path.chmod(0o700)
    return ThrottleJournal(tmp_path, "east", "abc")
