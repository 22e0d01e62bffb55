# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clusters of an inventory, and when a batch of them starts."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.clusters import (
    invalid_serial,
    not_begun,
    not_readable,
    too_many_failed,
)


@pytest.mark.parametrize("serial", [1, "100%", "1,5,50%", [1, "50%"], ["1", 5]])
def test_batch_sizes_are_numbers_or_percentages(serial: Any) -> None:
    assert invalid_serial(serial) is None


@pytest.mark.parametrize("serial", [0, "", "0%", "1,,2", "all", [], [1, "x"], "1, 5", None])
def test_batch_sizes_that_ansible_cannot_use_are_refused(serial: Any) -> None:
    assert "for example 1,5,50%" in str(invalid_serial(serial))


def test_the_remedy_of_variables_that_cannot_be_read_is_named() -> None:
    locked = not_readable({"kafka_sasl_password": "Attempting to decrypt but no vault secrets found."})
    assert locked.startswith("kafka_sasl_password of the clusters cannot be read: Attempting") and "--ask-vault-pass" in locked
    broken = not_readable({"": "'x' is undefined", "kafka_sasl_password": "y"})
    assert broken.startswith("Variables of the clusters cannot be read: 'x' is undefined") and "group_vars" in broken


@pytest.mark.parametrize(("limit", "serial"), [(1, "1,100%"), ("1", 1), (0, "100%"), (5, [1])])
def test_a_batch_starts_if_few_clusters_failed_or_if_there_is_one_batch(limit: Any, serial: Any) -> None:
    assert too_many_failed(["east"], ["west"], limit, serial, None) is None


@pytest.mark.parametrize("limit", [0, "0", "many", None])
def test_a_batch_does_not_start_after_too_many_failures(limit: Any) -> None:
    text = str(too_many_failed(["east", "north"], ["west", "south"], limit, "1,100%", None))
    assert text.startswith("west, south and all later batches do not start, because east, north failed before")
    assert "--limit 'kafka_clusters:!east:!north'" in text and text.endswith("-e kafka_recovery_max_failed_clusters=2")


def test_later_clusters_are_named_after_a_batch_that_failed_as_a_whole() -> None:
    text = not_begun(["west", "south"], ["east"], None)
    assert text.startswith("west, south are not begun, because every cluster of this batch has failed") and "run again" in text
    assert text.endswith("--limit 'kafka_clusters:!east'")
    assert not_begun(["west"], ["east"], None).startswith("west is not begun, because")


@pytest.mark.parametrize(("limit", "added"), [("europe", ":!east:!north"), ("west,east,north", ",!east,!north")])
def test_failed_clusters_are_excluded_from_the_limit_of_this_run(limit: str, added: str) -> None:
    """Another limit would begin clusters that the operator has left out."""
    for text in (not_begun(["west"], ["east", "north"], limit), too_many_failed(["east", "north"], ["west"], 0, "1,100%", limit)):
        assert f"{added} at the end of --limit" in str(text) and "kafka_clusters" not in str(text)
