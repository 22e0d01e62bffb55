# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts the people behind signatures. Pure.

In doubt two signatures are of one person: they share a key, or a name in the file of allowed signers, also by way of a third signature.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_PATTERN = frozenset("*?!")


@dataclass(frozen=True)
class Signer:
    """Who made a signature. `principal`: the name that was verified; `names`: all names of the key; `fingerprint`: of the key."""

    principal: str
    fingerprint: str
    names: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.principal} ({self.fingerprint})"

    @property
    def is_person(self) -> bool:
        """Return whether the names are names. A pattern such as *@example.com stands for many people, so it does not show who signed."""
        return not any(_PATTERN & set(name) for name in {self.principal, *self.names})


def people(signers: Iterable[Signer]) -> int:
    """Return how many different people signed at least."""
    groups: list[set[str]] = []
    for signer in signers:
        if not signer.is_person:
            continue
        marks = {f"key {signer.fingerprint}", *(f"name {name.casefold()}" for name in {signer.principal, *signer.names})}
        joined = [group for group in groups if group & marks]
        groups = [group for group in groups if not group & marks] + [marks.union(*joined)]
    return len(groups)
