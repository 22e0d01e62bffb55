# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes (mutants.toml), each one put into a copy of the product: the simulation must find it.

`python -m simulation.mutants WORD` plays those with this word, without one all.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import ansible_collections.streamops.kafka_recovery as collection
from simulation.seed_pool import exit_by_signal

ROOT = Path(next(iter(collection.__path__))).resolve()
MUTANTS = Path(__file__).with_suffix(".toml")
KEPT = Path(__file__).with_name("kept")
MODULE_UTILS = "plugins/module_utils"
FIRST_SEEDS, MORE_SEEDS = (1, 150), (151, 2000)  # before the other scripts that are kept, and after them: most mistakes are found early
SECONDS = 1800
JOBS = os.cpu_count() or 1
END_SECONDS = 5  # in which what plays histories removes their folders
ERROR_LINES = 10  # of the standard error, of a mistake that is not found


class Edit(NamedTuple):
    """In `file` (below module_utils) `old` is replaced by `new`."""

    file: str
    old: str
    new: str


class Mutant(NamedTuple):
    """A mistake. It has several edits if several checks stand one behind the other, each of which would prevent the harm alone.

    expect  part of the violation that it causes: with another one, or with an error of the simulation, it is not found
    kept    names of scripts that are kept because they find it
    """

    what: str
    expect: str
    edits: tuple[Edit, ...]
    kept: tuple[str, ...] = ()


def mutants() -> list[Mutant]:
    """Return all of them."""
    rows = tomllib.loads(MUTANTS.read_text())["mutant"]
    return [
        Mutant(
            row.pop("what"),
            row.pop("expect"),
            kept=tuple(row.pop("kept", ())),
            edits=tuple(Edit(**edit) for edit in (*row.pop("also", ()), row)),
        )
        for row in rows
    ]


def main() -> int:
    """Play those that the arguments name. Return the exit code: 1 if one is not found, 2 if there is none."""
    parser = argparse.ArgumentParser(
        prog="python -m simulation.mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("word", nargs="?", default="", help="play the mistakes whose name has this")
    parser.add_argument("--jobs", type=int, default=JOBS, help="histories that are played side by side")
    options = parser.parse_args()
    played = [mutant for mutant in mutants() if options.word in mutant.what]
    if not played:
        parser.error(f"no mistake has {options.word!r} in its name")
    if options.jobs < 1:
        parser.error("--jobs must be 1 or more")
    for number in (signal.SIGINT, signal.SIGTERM):  # otherwise what plays histories would go on
        signal.signal(number, exit_by_signal)
    survivors = [mutant.what for mutant in played if not is_found(mutant, options.jobs)]
    print(f"{len(played)} mistakes, not found: {survivors or 'none'}")
    return 1 if survivors else 0


def is_found(mutant: Mutant, jobs: int = JOBS) -> bool:
    """Return whether a seed, or a script that is kept, has the violation that this mistake causes. `jobs`: histories side by side.

    Raises ValueError if the product does not have the text.
    """
    with _mutated(mutant) as folder:
        expected = re.escape(mutant.expect)
        until = ("--until", mutant.expect, "--jobs", str(jobs))
        names = sorted((script.stem for script in KEPT.glob("*.json")), key=lambda name: name not in mutant.kept)
        scripts = [([str(KEPT / f"{name}.json")], _violation(mutant), name) for name in names]
        own, others_kept = scripts[: len(mutant.kept)], scripts[len(mutant.kept) :]
        first, more = (([*map(str, seeds), *until], rf"^(seed \d+: .*{expected}.*)", "") for seeds in (FIRST_SEEDS, MORE_SEEDS))
        found = errors = ""
        for arguments, pattern, name in (*own, first, *others_kept, more):
            if not found:
                found, others = _first_violation(folder, arguments, pattern, name)
                errors = errors or others
    print(f"{'found' if found else 'NOT FOUND'}: {mutant.what}: {found[:150]}", flush=True)
    if not found and errors:
        print(*errors.splitlines()[-ERROR_LINES:], sep="\n", flush=True)
    return bool(found)


def is_found_by(mutant: Mutant, script: str) -> bool:
    """Return whether a script that is kept has the violation that this mistake causes. Raises ValueError if the product does not have the text."""
    with _mutated(mutant) as folder:
        return bool(_first_violation(folder, [str(KEPT / f"{script}.json")], _violation(mutant))[0])


def _violation(mutant: Mutant) -> str:
    """Return the pattern of the line that a script prints of the violation."""
    return f"^(violation: .*{re.escape(mutant.expect)}.*)"


@contextmanager
def _mutated(mutant: Mutant) -> Iterator[str]:
    """Yield a folder for the path of Python, which has a copy of the product with this mistake."""
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_product(Path(folder))
        for edit in mutant.edits:
            text = (copy / edit.file).read_text()
            if text.count(edit.old) != 1:
                raise ValueError(f"{mutant.what}: {edit.file} has the text {text.count(edit.old)} times")
            (copy / edit.file).write_text(text.replace(edit.old, edit.new))
        yield folder


def _first_violation(folder: str, arguments: list[str], pattern: str, name: str = "") -> tuple[str, str]:
    """Play histories with the copy of the product in `folder`.

    Return the first violation that has `pattern`, empty if none has, and the standard error.
    """
    environment = {**os.environ, "PYTHONPATH": folder}
    command = [sys.executable, "-m", "simulation", *arguments]
    played = subprocess.Popen(  # in a group of its own, with the processes that it starts
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, errors = played.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "", f"it does not end within {SECONDS} s"
    finally:
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(played.pid, signal.SIGTERM)
            played.wait(END_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(played.pid, signal.SIGKILL)
    found = re.search(pattern, out, re.M) if played.returncode else None
    return (f"{name} {found[1]}".strip() if found else ""), errors


def copy_product(folder: Path) -> Path:
    """Copy the product to where Python finds it if `folder` is in its path. Return the copy of module_utils."""
    copy = folder / "ansible_collections/streamops/kafka_recovery" / MODULE_UTILS
    shutil.copytree(ROOT / MODULE_UTILS, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


if __name__ == "__main__":
    sys.exit(main())
