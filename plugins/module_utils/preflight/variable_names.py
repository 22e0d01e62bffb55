# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds variables that this collection does not read: misspelled names of its own variables, and near misses. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from typing import NamedTuple

PREFIX = "kafka_recovery_"
# Other tools have variables that begin with kafka_, too. A near miss differs in two letters at most: one more, one fewer, one replaced.
MOST_LETTERS = 2


class VariableNames(NamedTuple):
    """Names of variables.

    options     documented options of roles, which users set
    connection  connection options, which users set (without PREFIX)
    for_users   variables of examples and rulebooks
    mentioned   everything that roles and playbooks read or set
    """

    options: frozenset[str]
    connection: frozenset[str]
    for_users: frozenset[str]
    mentioned: frozenset[str]


def misspelled_variables(names: VariableNames, given: Collection[str], on_command_line: Collection[str] = ()) -> list[str]:
    """Return a sentence for each name in `given` that looks like a variable of this collection and is not one, with the nearest name of `names`.

    `on_command_line`: the names of `given` that `-e` sets. They override what a role sets, so they must not be internal variables of
    roles. A misspelled one is reported even if the inventory sets the right name, which may belong to another cluster.
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
    """Return the option that is most similar to a name, without the prefix of both; None if none is similar."""
    found = get_close_matches(name.removeprefix(PREFIX), sorted(option.removeprefix(PREFIX) for option in options), n=1)
    return PREFIX + found[0] if found else None


@cache
def _near_miss(name: str, options: Iterable[str]) -> str | None:
    """Return the option from which a name differs by MOST_LETTERS at most, None if there is none."""
    distances = {option: _letters(name, option) for option in sorted(options) if abs(len(option) - len(name)) <= MOST_LETTERS}
    nearest = min(distances, key=distances.__getitem__, default=None)
    return nearest if nearest is not None and distances[nearest] <= MOST_LETTERS else None


def _letters(one: str, other: str) -> int:
    """Return how many letters of both do not match: 1 for a missing letter, 2 for a replaced letter or two swapped ones."""
    matching = sum(block.size for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks())
    return len(one) + len(other) - 2 * matching
