# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role replay shows."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.replays import replay_lines

COUNTS: dict[str, Any] = {"replayed": 0, "left": 5, "already_there": 2, "skipped": {"aborted": 0, "not_chosen": 1}}


@pytest.mark.parametrize(("path", "begin"), [(None, "Dry run"), ("/w/proposed_replays/1/east.json", "To be proposed")])
def test_a_proposal_is_not_called_a_dry_run(path: str | None, begin: str) -> None:
    (line,) = replay_lines({"counts": COUNTS, "partitions": [], "proposal_path": path})
    assert line == f"{begin}, nothing was written. 5 saved records would be written again, 2 already there, not written: 1 not chosen"
