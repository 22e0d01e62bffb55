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

OPTION = "confirm (playbooks: kafka_recovery_confirm)"
_FORM = re.compile(r"\s*elect ([0-9][0-9,]{0,14})(?:, lose at most ([0-9][0-9,]{0,22}))?\s*")


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

    def check(self, losses: Sequence[Mapping[str, Any] | None]) -> None:
        """Raise RecoveryError if other elections are to come. `losses`: the bounds of each, None of a leader that was designated by hand."""
        upper = [None if loss is None else loss["upper_bound"] for loss in losses]
        total = None if None in upper else sum(bound or 0 for bound in upper)
        if len(losses) == self.elect and (self.lose is None or (total is not None and total <= self.lose)):
            return
        unknown = "no upper bound of the loss is known" + ("" if self.lose is None else ', so leave "lose at most" out if you accept that')
        bound = unknown if total is None else f"it may lose {number(total)} committed records"
        raise RecoveryError(
            f'{OPTION} is "{self.text}", and this run would elect {number(len(losses))}; {bound}. Nothing is elected. Look at the dry run '
            "(--check --diff) without it, then confirm what that says"
        )
