# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables whose names nothing in this collection reads: misspelt ones of its own, and near misses. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from typing import NamedTuple

PREFIX = "kafka_recovery_"
# Other tools have variables that begin with kafka_, too. A near miss of ours differs in two letters at most: one more, one less, one other.
MOST_LETTERS = 2


class Names(NamedTuple):
    """`options` are documented and for users to set, `connection` too (without the prefix). `for_users`: those of examples and rulebooks.

    `mentioned` is all that roles and playbooks read or set.
    """

    options: frozenset[str]
    connection: frozenset[str]
    for_users: frozenset[str]
    mentioned: frozenset[str]


def misspelt(names: Names, given: Collection[str], on_command_line: Collection[str] = ()) -> list[str]:
    """A sentence for each name in `given` that is not a variable of this collection but is meant as one, with the nearest right name.

    `on_command_line`: those of `given` that go over everything a role sets, so that none of them may be a role's own. Who misspells one there
    may aim at another cluster than that of the right name in the inventory.
    """
    sentences = []
    for name in sorted(given):
        if name in names.options or name in names.connection or name in names.for_users:
            continue
        if name in names.mentioned:
            if name in on_command_line:
                nearest = _nearest(name, names.options)
                remedy = f"leave it out, or did you mean {nearest}?" if nearest else "leave it out"
                sentences.append(f"{name} is set by the roles themselves and cannot be given with -e: {remedy}")
        elif name.startswith(PREFIX):
            nearest = _nearest(name, names.options)
            remedy = f"did you mean {nearest}?" if nearest else "remove it, or give a variable of another tool another name"
            sentences.append(f"{name} is not a variable of this collection: {remedy}")
        elif (
            name.startswith("kafka")
            and (near := _near_miss(name, names.options | names.connection))
            and (near not in given or (name in on_command_line and near not in on_command_line))
        ):
            sentences.append(f"{name} is not read by this collection: did you mean {near}? If another tool reads it, set {near}, too")
    return sentences


@cache
def _nearest(name: str, options: Iterable[str]) -> str | None:
    """The option that is most like a name, by what comes after the prefix."""
    found = get_close_matches(name.removeprefix(PREFIX), sorted(option.removeprefix(PREFIX) for option in options), n=1)
    return PREFIX + found[0] if found else None


@cache
def _near_miss(name: str, options: Iterable[str]) -> str | None:
    """The option from which a name differs by MOST_LETTERS at most, if there is one."""
    distances = {option: _letters(name, option) for option in sorted(options) if abs(len(option) - len(name)) <= MOST_LETTERS}
    nearest = min(distances, key=distances.__getitem__, default=None)
    return nearest if nearest is not None and distances[nearest] <= MOST_LETTERS else None


def _letters(one: str, other: str) -> int:
    """How many letters of both do not match: 1 for one that is missing, 2 for another letter or two that are swapped."""
    matching = sum(block.size for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks())
    return len(one) + len(other) - 2 * matching
