# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters that an earlier play leaves alone are not part of a play."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from ansible.errors import AnsibleError, AnsibleFilterError

from ansible_collections.streamops.kafka_recovery.plugins.filter.selected_clusters import selected_clusters

GROUPS = {"kafka_clusters": ["east", "west"]}


@pytest.mark.parametrize(
    ("west", "patterns"),
    [
        ({}, ["kafka_clusters"]),
        ({"kafka_recovery_leave_alone": False}, ["kafka_clusters"]),
        ({"kafka_recovery_leave_alone": True}, ["kafka_clusters", "!west"]),
        ({"kafka_recovery_leave_alone": "y"}, ["kafka_clusters", "!west"]),
    ],
)
def test_a_cluster_that_is_left_alone_is_excluded(west: dict[str, Any], patterns: list[str]) -> None:
    assert selected_clusters("kafka_clusters", GROUPS, {"east": {}, "west": west}) == patterns


@pytest.mark.parametrize(
    ("west", "patterns"),
    [
        ({}, ["kafka_clusters", "!east", "!west"]),
        ({"wanted": False}, ["kafka_clusters", "!east", "!west"]),
        ({"wanted": "y"}, ["kafka_clusters", "!east"]),
        ({"wanted": True, "kafka_recovery_leave_alone": True}, ["kafka_clusters", "!east", "!west"]),
    ],
)
def test_a_play_that_is_wanted_for_some_clusters_has_only_those(west: dict[str, Any], patterns: list[str]) -> None:
    assert selected_clusters("kafka_clusters", GROUPS, {"east": {"wanted": "no"}, "west": west}, "wanted") == patterns


def test_a_group_that_does_not_exist_is_left_to_the_check_of_the_inventory() -> None:
    assert selected_clusters("kafka_clusters", {}, {}) == ["kafka_clusters"]
    assert selected_clusters("kafka_clusters", GROUPS, {}) == ["kafka_clusters"], "a check of the syntax has no variables"


def test_a_value_that_is_no_boolean_ends_the_run() -> None:
    with pytest.raises(AnsibleFilterError):
        selected_clusters("kafka_clusters", GROUPS, {"east": {}, "west": {"kafka_recovery_leave_alone": "perhaps"}})


class Locked(Mapping[str, Any]):
    """Variables of which those of one cluster are in a locked vault."""

    def __getitem__(self, cluster: str) -> Any:
        if cluster == "east":
            raise AnsibleError("no vault secrets found")
        return {"kafka_recovery_leave_alone": True}

    def __iter__(self) -> Iterator[str]:
        return iter(GROUPS["kafka_clusters"])

    def __len__(self) -> int:
        return 2


def test_a_cluster_outside_of_the_limit_may_have_a_locked_vault() -> None:
    assert selected_clusters("kafka_clusters", GROUPS, Locked()) == ["kafka_clusters", "!west"]
    assert selected_clusters("kafka_clusters", GROUPS, Locked(), "wanted") == ["kafka_clusters", "!east", "!west"]
