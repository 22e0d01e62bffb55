# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run elects what the operator has confirmed by number, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.confirmation import Confirmation


def losses(*bounds: int | None) -> list[dict[str, Any]]:
    return [{"upper_bound": bound} for bound in bounds]


@pytest.mark.parametrize(
    ("text", "elect", "lose"),
    [("elect 8", 8, None), (" elect 8, lose at most 240 ", 8, 240), ("elect 1,200, lose at most 0", 1200, 0), ("elect 0", 0, None)],
)
def test_a_confirmation_has_the_partitions_and_may_have_the_loss(text: str, elect: int, lose: int | None) -> None:
    assert Confirmation.parse(text)[1:] == (elect, lose)


@pytest.mark.parametrize(
    "text", ["8", "elect eight", "elect -8", "elect 8 lose 3", "elect 8, lose at most", "elect 8\nelect 9", "elect " + 40 * "9", "yes"]
)
def test_another_text_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(RecoveryError, match=r"kafka_recovery_confirm.*must be like .elect 8. or .elect 8, lose at most 240."):
        Confirmation.parse(text)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [("elect 2", [3, None]), ("elect 2, lose at most 7", [3, 4]), ("elect 2, lose at most 8", [3, 4]), ("elect 0, lose at most 0", [])],
)
def test_what_was_confirmed_may_be_elected(text: str, bounds: list[int | None]) -> None:
    Confirmation.parse(text).check(losses(*bounds))


@pytest.mark.parametrize(
    ("text", "bounds", "said"),
    [
        ("elect 2", [3], "would elect 1; it may lose 3 committed records"),
        ("elect 2", [3, 4, 5], "would elect 3; it may lose 12 committed records"),
        ("elect 2, lose at most 6", [3, 4], "would elect 2; it may lose 7 committed records"),
        ("elect 2, lose at most 9", [3, None], "would elect 2; no upper bound of the loss is known"),
    ],
)
def test_anything_else_is_refused(text: str, bounds: list[int | None], said: str) -> None:
    with pytest.raises(RecoveryError, match=said):
        Confirmation.parse(text).check(losses(*bounds))


def test_the_loss_of_a_leader_that_was_designated_by_hand_is_not_known() -> None:
    with pytest.raises(RecoveryError, match="no upper bound"):
        Confirmation.parse("elect 1, lose at most 9").check([None])
