# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an operator has read in a plan or a dry run, and confirms by number: "elect 8, lose at most 240". Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode

OPTION = "confirm (playbooks: kafka_recovery_confirm)"
_NUMBER = r"([0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,5})"
_FORM = re.compile(rf"\s*elect {_NUMBER}(?:, lose at most {_NUMBER})?\s*")


Losses = Sequence[Mapping[str, Any] | None]


class Confirmation(NamedTuple):
    """`elect`: how many partitions may be elected, no more and no fewer. `lose`: how many committed records may be lost at most, None: not confirmed."""

    text: str
    elect: int
    lose: int | None

    @classmethod
    def parse(cls, text: str) -> Confirmation:
        """Return what the text confirms. Raises RecoveryError for another text."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise RecoveryError(
                f'{OPTION} is "{quoted(text)}"; it must be like "elect 8" or "elect 8, lose at most 240". Ansible cuts -e at spaces: write '
                "-e '{kafka_recovery_confirm: \"elect 8\"}'"
            )
        elect, lose = (None if group is None else int(group.replace(",", "")) for group in found.groups())
        return cls(text.strip(), elect or 0, lose)

    def check(self, losses: Losses) -> None:
        """Raise RecoveryError if other elections are to come. `losses`: the bounds of each, None of a leader that was designated by hand."""
        total = _upper_bound(losses)
        if len(losses) == self.elect and self.covers(losses):
            return
        unknown = "no upper bound of the loss is known" + ("" if self.lose is None else ', so leave "lose at most" out if you accept that')
        bound = unknown if total is None else f"it may lose {number(total)} committed records"
        raise RecoveryError(
            f'{OPTION} is "{self.text}", and this run would elect {number(len(losses))}; {bound}. Nothing is elected. Look at the dry run '
            "(--check --diff) without it, then confirm what that says"
        )

    def covers(self, losses: Losses) -> bool:
        """Return whether elections with these bounds lose no more than is confirmed."""
        total = _upper_bound(losses)
        return self.lose is None or (total is not None and total <= self.lose)


def _upper_bound(losses: Losses) -> int | None:
    """Return how many records are lost at most, None if that is not known."""
    upper = [None if loss is None else loss["upper_bound"] for loss in losses]
    return None if None in upper else sum(bound or 0 for bound in upper)


def not_confirmed(confirmation: Confirmation, entries: Sequence[Entry], results: Sequence[Result]) -> list[Result]:
    """Return HELD results of all these entries, if their elections and those of `results` may lose more than was confirmed. Else none."""
    elected = [result.loss for result in results if result.outcome == Outcome.ELECTED]
    if confirmation.covers([*elected, *(entry.loss for entry in entries)]):
        return []
    reason = f'evidence that was read since shows that more records may be lost than the confirmed "{confirmation.text}"; look at the dry run again'
    return [Result.of(entry, Outcome.HELD, ReasonCode.LIMIT_REACHED, reason) for entry in entries]
