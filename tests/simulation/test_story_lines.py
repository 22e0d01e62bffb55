# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The story of a simulated history is sentences."""

from __future__ import annotations

import subprocess
import sys

import pytest

SEED = "3"  # it reads disks, runs other commands and replays


@pytest.fixture(scope="module")
def story() -> list[str]:
    played = subprocess.run(
        [sys.executable, "-m", "simulation", SEED, SEED, "--story", "--jobs", "1"], capture_output=True, text=True, check=True
    )
    return played.stdout.splitlines()


def test_story_begins_with_the_seed_and_the_cluster(story: list[str]) -> None:
    assert story[0].startswith(f"seed {SEED}: 3 brokers of Kafka")
    assert "orders-0 on 3,2,1" in story[0]


def test_story_shows_no_python(story: list[str]) -> None:
    """Neither lists and dictionaries nor None, True and False. kafka-python writes `[Error 7]` for itself."""
    lines = [line.replace("[Error ", "") for line in story]
    shown = [line for line in lines if any(sign in line for sign in ("[", "{", "None", "True", "False", "Outcome."))]
    assert shown == []
