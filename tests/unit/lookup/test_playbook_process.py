# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup returns the process that lasts as long as the playbook, not the worker of a task."""

from __future__ import annotations

import multiprocessing
import os

import psutil

from ansible_collections.streamops.kafka_recovery.plugins.lookup.playbook_process import LookupModule


def look() -> list[dict[str, float]]:
    found: list[dict[str, float]] = LookupModule().run([])
    return found


def test_a_worker_returns_its_parent_as_the_process_itself_does() -> None:
    own = [{"pid": os.getpid(), "started_at": psutil.Process().create_time()}]
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert look() == own == pool.apply(look)
