# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A script that ends badly is shortened to plain settings if these are not why."""

from __future__ import annotations

from simulation.drawn_script import drawn
from simulation.script import Script
from simulation.shorten import shortened


def test_settings_that_do_not_matter_are_left_out() -> None:
    def replays(script: Script) -> bool:
        return script.replay is not None

    script = next(one for one in map(drawn, range(3000)) if one.lacks and one.replay and one.replay.wrong is not None)
    short = shortened(script, replays)
    assert short.replay is not None
    assert (short.lacks, short.quota, short.between, short.replay.wrong, short.replay.stop_at) == ((), None, (), None, None)


def test_a_setting_that_matters_stays() -> None:
    script = next(one for one in map(drawn, range(3000)) if one.lacks and one.quota is not None)
    short = shortened(script, lambda one: bool(one.lacks))
    assert (short.lacks, short.quota) == (script.lacks, None)


def test_small_limits_that_do_not_matter_are_left_out() -> None:
    script = next(one for one in map(drawn, range(3000)) if one.small_limits and one.kill_at)
    assert not shortened(script, lambda one: one.kill_at is not None).small_limits
    assert shortened(script, lambda one: one.small_limits).small_limits
