# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options for strategies: which partitions have an aggressive one, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.strategy_options import aggressive_ones, check_strategies

KEYS = [("a", 0), ("a", 1), ("b", 0)]


@pytest.mark.parametrize(
    ("strategy", "own", "aggressive"),
    [
        ("balanced", {}, []),
        ("kip966_balanced", {}, []),
        ("aggressive", {}, KEYS),
        ("aggressive", {"a": "balanced"}, KEYS[2:]),
        ("none", {"a": "aggressive", "c": "aggressive"}, KEYS[:2]),
    ],
)
def test_the_strategy_of_a_topic_goes_before_that_of_the_run(strategy: str, own: dict[str, str], aggressive: list[Any]) -> None:
    assert aggressive_ones(KEYS, {"strategy": strategy, "topic_strategies": own}) == set(aggressive)


@pytest.mark.parametrize("given", [{"a": "bold"}, {"a": None}, {"": "balanced"}, {7: "balanced"}, {"a/b": "balanced"}])
def test_what_is_no_topic_or_no_strategy_is_refused(given: dict[Any, Any]) -> None:
    check_strategies({"a": "aggressive"})
    with pytest.raises(RecoveryError, match="topic_strategies: "):
        check_strategies(given)
