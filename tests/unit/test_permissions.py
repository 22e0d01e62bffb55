# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Permissions: what the answers mean. That brokers give them is tested with brokers."""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.permissions import operations


def test_authorized_operations_have_kafkas_names() -> None:
    assert operations({3, 7, 8}) == {"READ", "ALTER", "DESCRIBE"}
    assert operations(set()) == frozenset()


def test_operations_of_later_releases_are_no_obstacle() -> None:
    assert operations({8, 30}) == {"DESCRIBE"}


def test_a_broker_that_does_not_tell_is_no_broker_that_forbids() -> None:
    assert operations(None) is None
