# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lost brokers by cluster: every form in which they can be given, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.filter.lost_brokers import lost_brokers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.lost_brokers import of_cluster, parse

CLUSTERS = ["east", "west", "north"]


@pytest.mark.parametrize(
    ("value", "east", "west"),
    [
        ([], [], []),
        ("", None, None),
        (None, None, None),
        ([2, "1", 2], [1, 2], [1, 2]),
        ("1,2", [1, 2], [1, 2]),
        (3, [3], [3]),
        ({}, None, None),
        ({"east": [1]}, [1], None),
        ({"east": [2, 1], "west": "4"}, [1, 2], [4]),
        ({"east": [], "west": [4]}, [], [4]),
    ],
)
def test_each_cluster_has_its_own(value: Any, east: list[int] | None, west: list[int] | None) -> None:
    assert (of_cluster(value, "east", CLUSTERS), of_cluster(value, "west", CLUSTERS)) == (east, west)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"eas": [1]}, ("eas", "did you mean east?")),
        # As near to one as to the other.
        ({"est": [1]}, ("est", "did you mean east or west?")),
        ({"west": [1], "nroth": [2]}, ("nroth", "did you mean north?")),
        ({"west": [-1]}, ("lost_brokers of west: -1 cannot be the id of a broker",)),
        ({"west": [True]}, ("of west is [True]", "give a list of broker ids")),
        ({"west": {"east": [1]}}, ("of west is", "give a list of broker ids")),
        # What -e kafka_recovery_lost_brokers=[1] makes of it.
        ("[1]", ("is '[1]'", "-e '{")),
        (["one"], ("is ['one']",)),
        ([1.5], ("is [1.5]",)),
        ([2**31], ("cannot be the id of a broker",)),
    ],
)
def test_what_is_refused_is_named_in_one_line(value: Any, expected: tuple[str, ...]) -> None:
    with pytest.raises(RecoveryError) as refused:
        of_cluster(value, "east", CLUSTERS)
    assert all(word in str(refused.value) for word in expected), str(refused.value)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 300
    assert lost_brokers(value, "east", CLUSTERS) == {"objection": str(refused.value)}


def test_the_filter_gives_the_brokers_of_one_cluster() -> None:
    given = {"west": [4], "north": []}
    assert lost_brokers(given, "west", CLUSTERS) == {"brokers": [4], "named": True, "objection": ""}
    assert lost_brokers(given, "north", CLUSTERS) == {"brokers": [], "named": True, "objection": ""}, "it says that none is lost"
    assert lost_brokers(given, "east", CLUSTERS) == {"brokers": [], "named": False, "objection": ""}


def test_without_an_inventory_a_mapping_may_name_any_cluster() -> None:
    assert parse({"anywhere": [1]}, None, "lost_brokers") == {"anywhere": [1]}
