"""Scores of earlier games: one JSON object per line."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

from gameday.scenario import Scenario
from gameday.score import Card, Facts

SHOWN = 5


def default_file() -> Path:
    """Where people's scores are kept."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "streamops-kafka-recovery" / "gameday.jsonl"


def append(path: Path, scenario: Scenario, facts: Facts, card: Card, when: datetime) -> None:
    """Add a game."""
    path.parent.mkdir(parents=True, exist_ok=True)
    game = {
        "date": when.strftime("%Y-%m-%d %H:%M"),
        "seed": scenario.seed,
        "level": scenario.level,
        "scenario": scenario.key,
        "title": scenario.title,
        "total": card.total,
        "seconds": round(facts.seconds),
        "hints": card.hints,
        "lines": {line.name: [round(line.points, 1), line.of] for line in card.lines},
    }
    with path.open("a") as file:
        file.write(json.dumps(game) + "\n")


def last(path: Path, count: int = SHOWN) -> list[dict[str, Any]]:
    """The newest games. A line that is no game is left out: the file is the player's own."""
    games = []
    for line in path.read_text().splitlines():
        try:
            game = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(game, dict) and {"date", "seed", "level", "title", "total"} <= game.keys():
            games.append(game)
    return games[-count:]
