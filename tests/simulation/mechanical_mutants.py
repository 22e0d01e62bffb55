# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes that Cosmic Ray makes of one file of the product, each tried with the unit tests of that file, and then with the simulation.

`python -m simulation.mechanical_mutants decision/decide.py` lists those that neither finds, and that survivors.toml does not explain.
A copy of the product has the mistakes. Those that were found are kept: the same command tries only the others again.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

import cosmic_ray.plugins
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import TestOutcome

from simulation.forked_tests import ForkedTests
from simulation.mutants import MODULE_UTILS, ROOT, copy_product

FOLDER = Path(".cache/mutants")
SURVIVORS = Path(__file__).with_name("survivors.toml")
MEMORY = Path("/dev/shm")  # tests and histories write here if there is such a folder: they wait long for a disk that others use
PYTEST = ("-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0")
HISTORY_COMMAND = ("simulation", "1", "30", "--until", "--jobs", "1")
UNIT_TESTS, HISTORIES = "found by unit tests", "found by histories"
# Some mistakes make endless loops.
TEST_SECONDS, HISTORIES_SECONDS = 60.0, 600.0
# The unit tests of each file, below tests/unit: those that find most, and after them slower ones. Options of pytest begin with a dash.
TESTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "decision/controller.py": (
        ("decision/test_forecast.py", "decision/test_controller.py", "-knot origins and not some_order"),
        ("decision/test_controller.py",),
    ),
    "election/reorder_journal.py": (("election/test_reorder_journal.py", "leftovers/test_open_orders.py"),),
    "common/journal_file.py": (("common/test_journal_file.py",), ("election/test_reorder_journal.py",)),
    "saved_records/save.py": (
        ("saved_records/test_save_rounds.py", "saved_records/test_save.py", "-knot byte_for_byte"),
        ("saved_records/test_save.py", "-kbyte_for_byte"),
        ("saved_records/test_save_progress.py",),
    ),
    "decision/decide.py": (
        ("decision/test_decide.py", "-knot is_safe and not decides_nothing and not wherever_balanced and not decode_returns"),
        (
            "decision/test_designation.py",
            "decision/test_failed_comparisons.py",
            "decision/test_isr_proof.py",
            "decision/test_lost_members.py",
        ),
    ),
    "decision/loss.py": (
        ("decision/test_loss.py", "decision/test_lost_members.py"),
        ("decision/test_lost_offsets.py", "decision/test_explain.py"),
    ),
    "election/guards.py": (("election/test_guards.py",), ("election/test_second_decision.py",)),
}
# By what an operator is replaced. Tests that find these find the others, too. Two comparisons differ for less, for equal or for greater: a mistake that is left
# out differs where one of these does. `is` with None, and arithmetic with sets, is an error at once if it is replaced otherwise. `==` and `is` are the same for
# None, members of enums and the small numbers of tests.
REPLACED = {
    "ReplaceComparisonOperator": {
        "Eq": "NotEq LtE GtE", "NotEq": "Eq Lt Gt", "Lt": "LtE NotEq", "LtE": "Lt Eq", "Gt": "GtE NotEq", "GtE": "Gt Eq", "Is": "IsNot", "IsNot": "Is",
    },
    "ReplaceBinaryOperator": {
        "Add": "Sub Mul", "Sub": "Add BitAnd BitOr", "Mul": "Add FloorDiv", "Div": "Mul FloorDiv", "FloorDiv": "Mul Add", "BitAnd": "BitOr Sub",
        "BitOr": "BitAnd Sub", "LShift": "RShift",
    },
    "ReplaceUnaryOperator": {"Delete": "USub Not"},
}  # fmt: skip


Change = tuple[str, str, str]


class Mistake(NamedTuple):
    """`old` of the function `within` is replaced by `new`: stripped lines, with a space between them. `code`: the whole file then."""

    operator: str
    within: str
    old: str
    new: str
    code: str

    @property
    def change(self) -> Change:
        """Return what survivors.toml names it by."""
        return self.within, self.old, self.new


class Explained(NamedTuple):
    """Mistakes of `file`, below module_utils, that change nothing which tests or histories could see. The others as in Mistake, with each of `new`."""

    file: str
    within: str
    old: str
    new: tuple[str, ...]
    reason: str


def main() -> int:
    """Try the mistakes of the file that the argument names. Return the exit code: 1 if one is neither found nor explained, or an explanation is wrong."""
    parser = argparse.ArgumentParser(prog="python -m simulation.mechanical_mutants", description=__doc__)
    parser.add_argument("file", choices=TESTS, help="below plugins/module_utils")
    parser.add_argument("--only-tests", action="store_true", help="play no histories, which take long")
    options = parser.parse_args()
    file = options.file
    found_by = _try_all(file, FOLDER.absolute() / file.replace("/", "."), options.only_tests)
    harmless = explained(file)
    for one, by in found_by.items():
        if not by and one.change not in harmless:
            print(f"NOT FOUND: {one.operator} in {one.within}\n  - {one.old}\n  + {one.new}")
    wrong = harmless - {one.change for one, by in found_by.items() if not by}
    for within, old, new in sorted(wrong):
        print(f"EXPLAINED, but found, or not made any more: in {within}\n  - {old}\n  + {new}")
    counts = Counter(by or ("explained" if one.change in harmless else "not found") for one, by in found_by.items())
    print(f"{file}: {len(found_by)} mistakes: {', '.join(f'{number} {by}' for by, number in sorted(counts.items()))}")
    return 1 if wrong or counts["not found"] else 0


def explanations() -> list[Explained]:
    """Return what survivors.toml has."""
    rows = tomllib.loads(SURVIVORS.read_text())["survivor"]
    return [Explained(**{**row, "new": tuple(row["new"])}) for row in rows]


def explained(file: str) -> set[Change]:
    """Return the changes of a file that survivors.toml explains."""
    return {(row.within, row.old, new) for row in explanations() if row.file == file for new in row.new}


def mistakes(source: str) -> Iterator[Mistake]:
    """Yield what Cosmic Ray makes of the text of a file, without what is not Python, or changes only annotations, which nothing evaluates."""
    meaning, functions = _meaning(source), _functions(source)
    for name in cosmic_ray.plugins.operator_names():
        operator = cosmic_ray.plugins.get_operator(name)
        kind, _, replaced = name.removeprefix("core/").partition("_")
        before, _, after = replaced.partition("_")
        if operator.arguments() or (kind in REPLACED and after not in REPLACED[kind].get(before, "").split()):
            continue
        for occurrence in count():
            code = MutationVisitor.mutate_code(source, operator(), occurrence)
            if code is None:
                break
            if _meaning(code) not in (None, meaning):
                yield Mistake(name.removeprefix("core/"), *_change(source, code, functions), code)


def _meaning(source: str) -> str | None:
    """Return the syntax tree without annotations, None if it is not Python."""
    try:
        tree = ast.parse(source)
        with warnings.catch_warnings(action="ignore"):
            compile(source, "", "exec")
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        for place in ("annotation", "returns"):
            if getattr(node, place, None) is not None:
                setattr(node, place, ast.Constant(None))
    return ast.dump(tree)


def _functions(source: str) -> dict[int, str]:
    """Return the name of the function, with its class, of each line that is in one."""
    found: dict[int, str] = {}

    def walk(node: ast.AST, outer: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = outer
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{outer}.{child.name}".lstrip(".")
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                found.update(dict.fromkeys(range(first, (child.end_lineno or first) + 1), name))
            walk(child, name)

    walk(ast.parse(source), "")
    return found


def _change(source: str, code: str, functions: Mapping[int, str]) -> Change:
    """Return where and what differs."""
    _, _, place, *changes = difflib.unified_diff(source.splitlines(), code.splitlines(), lineterm="", n=0)
    line = int(place.split()[1].split(",")[0].lstrip("-"))
    removed, added = (" ".join(text[1:].strip() for text in changes if text.startswith(sign)).strip() for sign in "-+")
    return functions.get(line, ""), removed, added


def _try_all(file: str, folder: Path, only_tests: bool) -> dict[Mistake, str]:
    """Return what finds each mistake of a file: unit tests, histories, or an empty text."""
    shutil.rmtree(folder / "ansible_collections", ignore_errors=True)
    mutated = copy_product(folder) / file
    source = (ROOT / MODULE_UTILS / file).read_text()
    kept = folder / "found.jsonl"
    os.environ.update(
        PYTHONPATH=str(folder), PYTEST_ADDOPTS="-m 'not slow and not long'", **({"TMPDIR": str(MEMORY)} if MEMORY.is_dir() else {})
    )
    groups = [[*PYTEST, *(name if name.startswith("-") else f"tests/unit/{name}" for name in group)] for group in TESTS[file]]
    for command in (*(["pytest", *group] for group in groups), *([] if only_tests else [HISTORY_COMMAND])):  # compiles the copy, too
        if subprocess.run([sys.executable, "-m", *command], env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""}, check=False).returncode:
            raise SystemExit(f"without a mistake this fails: {command}")
    known = dict(map(json.loads, kept.read_text().splitlines())) if kept.exists() else {}
    harmless = explained(file)
    found_by: dict[Mistake, str] = {}
    with ForkedTests() as tests:
        for one in mistakes(source):
            by = known.get(one.code, "")
            if not by:
                mutated.write_text(one.code)
                by = _found_by(tests, groups, only_tests or one.change in harmless)
                if by:
                    with kept.open("a") as stream:
                        stream.write(json.dumps([one.code, by]) + "\n")
            found_by[one] = by
            print(f"{len(found_by)} {by or 'NOT FOUND'}: {one.operator}: {one.new}", flush=True)
    mutated.write_text(source)
    return found_by


def _found_by(tests: ForkedTests, groups: Iterable[Sequence[str]], only_tests: bool) -> str:
    if not all(tests.pass_in_time(group, TEST_SECONDS) for group in groups):
        return UNIT_TESTS
    command = shlex.join([sys.executable, "-m", *HISTORY_COMMAND])
    return HISTORIES if not only_tests and run_tests(command, HISTORIES_SECONDS)[0] != TestOutcome.SURVIVED else ""


if __name__ == "__main__":
    sys.exit(main())
