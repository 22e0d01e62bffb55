# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the script of a history that ends badly as short as it can be, so that a person can read what happened."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from simulation.move_script import PLAIN_MOVES
from simulation.request_script import NO_REQUEST
from simulation.review_script import NO_REVIEW
from simulation.script import Script
from simulation.versions import NEWEST

# What may differ of a violation when the script gets shorter: numbers, lists of them, and topics.
_LISTS, _TOPICS = re.compile(r"\d+(?:[., ]+\d+)*"), re.compile(r"\b(orders|payments)\b")


def kind_of(violation: str) -> str:
    """Return a violation without what may differ when its script gets shorter."""
    return _LISTS.sub("0", _TOPICS.sub("topic", violation))


def shortened(script: Script, is_bad: Callable[[Script], bool]) -> Script:
    """Return the script without all that is not needed for `is_bad` to be true of it."""
    while True:
        for shorter in _shorter(script):
            if is_bad(shorter):
                script = shorter
                break
        else:
            return script


def _shorter(script: Script) -> Iterator[Script]:
    """Yield scripts that lack something, first those that lack much."""
    without: tuple[dict[str, Any], ...] = (
        {"second": None}, {"kill_at": None}, {"strike": None}, {"drift": 0.0}, {"review": 0.0}, {"loses_power": False}, {"wrong_answers": None},
        {"damaged": None}, {"commands": None}, {"compacted": ()}, {"kafka": NEWEST.name}, {"small_limits": False},
    )  # fmt: skip
    yield from (replace(script, **nothing) for nothing in without if replace(script, **nothing) != script)
    if script.wrong_answers is not None and script.wrong_answers.rehearsals:
        yield replace(script, wrong_answers=replace(script.wrong_answers, rehearsals=0))
    yield from _with_shorter_request(script)
    yield from _with_plain_settings(script)
    yield from _with_shorter_replay(script)
    yield from _with_shorter_moves(script)
    yield from _with_shorter_reviews(script)
    yield from _with_fewer_disks(script)
    yield from _with_shorter_later_runs(script)
    size = max(len(script.damage), len(script.faults)) // 2
    while size:
        for at in range(0, len(script.faults), size):
            yield replace(script, faults=script.faults[:at] + script.faults[at + size :])
        for at in range(0, len(script.damage), size):
            yield replace(script, damage=script.damage[:at] + script.damage[at + size :])
        size //= 2
    if len(script.faults) == 1:
        yield replace(script, faults=())
    if len(script.damage) == 1:
        yield replace(script, damage=())
    for topic, partitions in script.topics.items():
        if len(script.topics) > 1:
            yield replace(script, topics={name: rows for name, rows in script.topics.items() if name != topic})
        if len(partitions) > 1:
            yield replace(script, topics={**script.topics, topic: partitions[:-1]})


def _with_shorter_later_runs(script: Script) -> Iterator[Script]:
    for at, run in enumerate(script.later):
        before, after = script.later[:at], script.later[at + 1 :]
        yield replace(script, later=before + after)
        for field in fields(run):
            for less in _less(getattr(run, field.name)):
                yield replace(script, later=(*before, replace(run, **{field.name: less}), *after))


def _less(value: Any) -> list[Any]:
    """Return what may stand for a field of a later run: None for a number, some of its steps."""
    if not isinstance(value, tuple):
        return [None] if value is not None else []
    half = len(value) // 2
    return [*([value[:half], value[half:]] if half else []), *(value[:one] + value[one + 1 :] for one in range(len(value)))]


def _with_shorter_request(script: Script) -> Iterator[Script]:
    request = script.request
    for field in fields(request):
        if getattr(request, field.name) != getattr(NO_REQUEST, field.name):
            yield replace(script, request=replace(request, **{field.name: getattr(NO_REQUEST, field.name)}))


def _with_shorter_reviews(script: Script) -> Iterator[Script]:
    reviews = script.reviews
    for field in fields(reviews):
        if getattr(reviews, field.name) != getattr(NO_REVIEW, field.name):
            yield replace(script, reviews=replace(reviews, **{field.name: getattr(NO_REVIEW, field.name)}))


def _with_fewer_disks(script: Script) -> Iterator[Script]:
    if script.disks is None:
        return
    yield replace(script, disks=None)
    without: tuple[dict[str, Any], ...] = ({"is_evidence": False}, {"rescue": None}, {"torn": None}, {"is_damaged": False})
    for nothing in without:
        if (fewer := replace(script.disks, **nothing)) != script.disks:
            yield replace(script, disks=fewer)


def _with_shorter_replay(script: Script) -> Iterator[Script]:
    if script.replay is None:
        return
    yield replace(script, replay=None)
    without: tuple[dict[str, Any], ...] = ({"second": None}, {"kill_at": None}, {"strike": None}, {"faults": ()})
    for nothing in without:
        shorter = replace(script.replay, **nothing)
        if shorter != script.replay:
            yield replace(script, replay=shorter)
    faults = script.replay.faults
    for at in range(len(faults) if len(faults) > 1 else 0):
        yield replace(script, replay=replace(script.replay, faults=faults[:at] + faults[at + 1 :]))


def _with_shorter_moves(script: Script) -> Iterator[Script]:
    moves = script.moves
    if moves is None:
        return
    yield replace(script, moves=None)
    for at in range(len(moves.targets) if len(moves.targets) > 1 else 0):
        yield replace(script, moves=replace(moves, targets=moves.targets[:at] + moves.targets[at + 1 :]))
    without: tuple[dict[str, Any], ...] = (
        {"throttle": None},
        {"standing": None, "expires_after": None},
        {"others": ()},
        {"options": PLAIN_MOVES},
    )
    for nothing in without:
        if (shorter := replace(moves, **nothing)) != moves:
            yield replace(script, moves=shorter)


def _with_plain_settings(script: Script) -> Iterator[Script]:
    """Yield the script with a login that lacks nothing, without a quota, without other tools between runs, and with a plainer replay."""
    plain: tuple[dict[str, Any], ...] = ({"lacks": ()}, {"quota": None}, {"between": ()})
    yield from (replace(script, **nothing) for nothing in plain if replace(script, **nothing) != script)
    if script.replay is not None:
        replays = replace(script.replay, stop_at=None), replace(script.replay, wrong=None)
        yield from (replace(script, replay=one) for one in replays if one != script.replay)
