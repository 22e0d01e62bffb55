# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The story of a simulated history is sentences."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from simulation.story_lines import names_of_runs

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


def test_story_says_what_is_written_copied_and_truncated_and_how_leaders_and_isrs_change(story: list[str]) -> None:
    """Why logs differ can be seen."""
    for line in (
        r"broker \d writes offsets? \d+( to \d+)? of orders-0, epoch \d+: orders-0#\d+",
        r"broker \d copies orders-0 from broker \d, up to offset \d+",
        r"broker \d truncates orders-0 from offset \d+ on, as broker \d leads: orders-0#\d+",
        r"orders-0: leader \d in epoch \d+, ISR \d(,\d)*",
        r"orders-0: no leader in epoch \d+, ISR (\d(,\d)*|empty)",
    ):
        assert any(re.search(rf"^t=\S+ {line}", one) for one in story), line


def test_names_of_runs_are_explained(story: list[str]) -> None:
    """A name that is not explained has no pattern in RUNS."""
    text = "\n".join(story)
    names = {re.sub(r"-\d+$", "-N", one) for one in re.findall(r"^t=\S+ (\S+) (?:ends|is killed|gets SIGTERM)", text, re.M)}
    explained = {one.partition(":")[0] for one in story if not one.startswith(("t=", "seed "))}
    assert names and names <= explained


def test_names_of_runs_say_what_they_are() -> None:
    story = [
        "t=1.000 later-0 fails: no",
        "t=2.000 later-12 ends: no",
        "t=3.000 the replay of again ends: no",
        "t=3.000 last replay is killed before step 4: no",
    ]
    assert [one.partition(":")[0] for one in names_of_runs(story)] == ["again", "later-N", "last replay"]
