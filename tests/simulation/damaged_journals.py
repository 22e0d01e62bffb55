# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that moves and replays read are damaged between runs, each in its turn: a run in check mode reads them and changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from simulation.command_operator import CommandOperator
from simulation.damaged_files import DamagedFiles
from simulation.judges import Judges
from simulation.kraft import Key
from simulation.move_operator import MoveOperator
from simulation.replay_judges import ReplayJudges
from simulation.replay_operator import ReplayOperator

ROUNDS = 3  # of damage: there are few files of moves
RATE = 2_000


class _Damaged(DamagedFiles):
    """Damages files, and runs `commands` instead of a recovery."""

    def __init__(
        self,
        number: int,
        operator: CommandOperator,
        judges: Judges,
        counts: Counter[str],
        tell: Callable[[str], None],
        commands: Callable[[], Mapping[str, Callable[[], dict[str, Any]]]],
    ) -> None:
        super().__init__(number, operator, judges, counts, tell)
        self._commands = commands

    def _read_forged_part(self, _run_id: str) -> None:
        self._recover_in_check_mode()

    def _recover_in_check_mode(self) -> dict[str, Any]:
        for what, command in self._commands().items():
            self._counts["runs in check mode with damaged files"] += 1
            self._do(what, command)
        return {}


def damaged_moves(
    number: int, operator: CommandOperator, mover: MoveOperator, targets: Mapping[Key, tuple[int, ...]], judges: Judges,
    counts: Counter[str], tell: Callable[[str], None],
) -> None:  # fmt: skip
    """Damage files of moves and throttles."""

    def commands() -> dict[str, Callable[[], dict[str, Any]]]:
        return {
            "moves": lambda: mover.move("damaged", targets, check_mode=True, throttle=RATE),
            "a cancellation": lambda: mover.move("damaged", {}, check_mode=True, state="cancelled", partitions=None),
            "a throttle": lambda: mover.throttle("present", RATE, check_mode=True),
            "the end of a throttle": lambda: mover.throttle("absent", check_mode=True),
            "leftovers": lambda: mover.clean("damaged", [], check_mode=True),
        }

    damaged = _Damaged(number, operator, judges, counts, tell, commands)
    for _ in range(ROUNDS):
        damaged.between_runs()


def damaged_replays(
    number: int, operator: CommandOperator, replayer: ReplayOperator, replay_judges: ReplayJudges, judges: Judges, counts: Counter[str],
    tell: Callable[[str], None],
) -> None:  # fmt: skip
    """Damage files that replays read."""
    before = replay_judges.traces()

    def commands() -> dict[str, Callable[[], dict[str, Any]]]:
        return {f"a replay of {run_id}": lambda run_id=run_id: replayer.replay(run_id, check_mode=True) for run_id in replayer.saved_runs()}  # type: ignore[misc]

    damaged = _Damaged(number, operator, judges, counts, tell, commands)
    for _ in range(ROUNDS):
        damaged.between_runs()
    if replay_judges.traces() != before:
        judges.add_violation("a replay in check mode that read a damaged file has changed a log, or has begun a producer")
