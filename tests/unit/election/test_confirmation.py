# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run elects what the operator has confirmed by number, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from collected_evidence import found_again
from offline_group_offsets import Described

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.apply import Recovery
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.confirmation import Confirmation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry


def losses(*bounds: int | None) -> list[dict[str, Any]]:
    return [{"upper_bound": bound} for bound in bounds]


@pytest.mark.parametrize(
    ("text", "elect", "lose"),
    [("elect 8", 8, None), (" elect 8, lose at most 240 ", 8, 240), ("elect 1,200, lose at most 0", 1200, 0), ("elect 0", 0, None)],
)
def test_a_confirmation_has_the_partitions_and_may_have_the_loss(text: str, elect: int, lose: int | None) -> None:
    assert Confirmation.parse(text)[1:] == (elect, lose)


@pytest.mark.parametrize(
    "text",
    ["8", "elect eight", "elect -8", "elect 8 lose 3", "elect 8, lose at most", "elect 8\nelect 9", "elect " + 40 * "9", "elect", "yes"],
)
def test_another_text_is_refused_with_an_example(text: str) -> None:
    like = r"kafka_recovery_confirm.*must be like .elect 8. or .elect 8, lose at most 240..*-e .\{kafka_recovery_confirm: .elect 8.\}"
    with pytest.raises(RecoveryError, match=like):
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
        ("elect 3", [3, None], "would elect 2; no upper bound of the loss is known. Nothing"),
        ("elect 2", [3], "would elect 1; it may lose 3 committed records"),
        ("elect 2", [3, 4, 5], "would elect 3; it may lose 12 committed records"),
        ("elect 2, lose at most 6", [3, 4], "would elect 2; it may lose 7 committed records"),
        ("elect 2, lose at most 9", [3, None], "would elect 2; no upper bound of the loss is known, so leave .lose at most. out"),
    ],
)
def test_anything_else_is_refused(text: str, bounds: list[int | None], said: str) -> None:
    with pytest.raises(RecoveryError, match=said):
        Confirmation.parse(text).check(losses(*bounds))


def test_the_loss_of_a_leader_that_was_designated_by_hand_is_not_known() -> None:
    with pytest.raises(RecoveryError, match="no upper bound"):
        Confirmation.parse("elect 1, lose at most 9").check([None])


@pytest.mark.parametrize("elect", [1, 2])
def test_what_a_dry_run_says_is_what_can_be_confirmed(tmp_path: Path, elect: int) -> None:
    """One of two partitions of the plan is online since."""

    def recovery() -> Recovery:
        found = Recovery(Described(), name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1, data_loss_allowed=True)  # type: ignore[arg-type]
        survivors = {2: (0, 121), 3: (0, 100)}
        offline = Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), survivors, "prefix", "balanced")
        online = Entry("t", 2, 3, (3, 2, 1), "id", 1, (3, 1, 2), survivors, "prefix", "balanced")
        found._entries = [found_again(offline), found_again(online)]
        return found

    dry_run, real = recovery(), recovery()
    dry_run.predict()
    assert dry_run.results.summary()["elected"] == 1
    confirmation = Confirmation.parse(f"elect {elect}")
    if elect == 1:
        real.require(confirmation)
        return
    with pytest.raises(RecoveryError, match="would elect 1"):
        real.require(confirmation)
