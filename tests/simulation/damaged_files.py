# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of the workdir are cut, edited, emptied, removed or swapped between runs, with a seal that is right or not. Nothing on the cluster changes for that."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import FOLDER, MANY_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import landing_lines, worker
from simulation.command_operator import CommandOperator
from simulation.forged_parts import forge
from simulation.judges import Judges
from simulation.odd_results import OTHER_TOPIC
from simulation.operator import NAME, SAVED
from simulation.sealed_lines import sealed
from simulation.story_lines import ending
from simulation.wrong_values import edited

RUN, CHECKED = "damaged", "checked"
EDITS, PLANS, FILES, FORGERIES, DISK_EDITS = 40, 3, 6, 3, 6
DISKS = "disks"  # the folder of evidence of disks
# What a journal has of a run that has left nothing open, with names as long as they may be. With so many of these lines the next run empties it.
LONG_NAME = 255 * b"x"
RUN_LINE = b'{"kind":"run","run_id":"%b","host":"%b","pid":4711,"begun":"%b"}\n' % (LONG_NAME, LONG_NAME, LONG_NAME)
MANY_LINES = MANY_BYTES // len(RUN_LINE) + 1
CHECKED_SHARE, LONG_JOURNALS = 0.3, 0.2  # of the elections by edited plans and evidence
VERDICTS = 0.8  # of the runs whose elections need a verdict of an earlier one
EXCEPTED = "landing", "plans", "results"


class DamagedFiles:
    """Damages files of a workdir, each in its turn, and puts them back. `number` chooses what and how."""

    def __init__(self, number: int, operator: CommandOperator, judges: Judges, counts: Counter[str], tell: Callable[[str], None]) -> None:
        self._random, self._operator, self._judges, self._counts, self._tell = Random(number), operator, judges, counts, tell
        self._workdir = operator.workdir

    def before_recovery(self) -> None:
        """Decide on evidence that was edited, and elect by plans and evidence that were edited."""
        try:
            self._operator.collect(RUN)
        except RecoveryError:  # no broker answers
            return
        # Guards elect only whom they would choose by right evidence, too.
        self._judges.note_evidence(json.loads(Path(self._operator.plan(RUN)["path"]).read_text())["partitions"])
        landing = self._workdir / "landing" / RUN / f"{NAME}.jsonl"
        header = json.loads(landing.read_bytes().splitlines()[0])
        self._decide_on_edits(landing.read_bytes().splitlines())
        before = len(self._judges.own_elected)
        self._collect_with_edited_disks()
        self._elect_edited(landing)
        for journal in sorted((self._workdir / FOLDER).glob("*.jsonl")):
            self._append_to(journal, header["cluster_id"])
        self._counts["elections by edited plans and evidence"] += len(self._judges.own_elected) - before

    def _decide_on_edits(self, lines: list[bytes]) -> None:
        """Decide on documents with one or two wrong values: each is refused, or gives a decision."""
        header = json.loads(lines[0])
        cluster = landing_lines.read_cluster(header)
        for _ in range(EDITS):
            self._counts["documents with wrong values"] += 1
            document = json.loads(self._random.choice(lines[1:-1] or lines))
            for _time in range(self._random.choice((1, 1, 2))):
                document = edited(document, self._random)
            policy = Policy(self._random.choice([*Strategy]), self._random.choice([*Ranking]))
            worker.plan_row(json.dumps(document).encode(), NAME, cluster, policy)
            try:
                landing_lines.read_cluster(edited(header, self._random))
            except RecoveryError:
                self._counts["headers with wrong values refused"] += 1

    def _append_to(self, journal: Path, cluster_id: str) -> None:
        """Append what earlier runs may have left: orders of topics that are gone since or were created again, or very many lines of runs that have ended.

        The next run that elects must come to an end with both, and leave nothing open.
        """
        content = journal.read_bytes()
        if self._random.random() < LONG_JOURNALS:
            journal.write_bytes(content + RUN_LINE * MANY_LINES)
            self._counts["long journals"] += 1
            return
        for topic in ("gone", "orders"):
            order = {"topic": topic, "partition": 0, "topic_id": OTHER_TOPIC, "original": [1, 2], "changed": [2, 1]}
            line = json.dumps({"kind": "intent", "id": f"of {topic}", "cluster_id": cluster_id, "orders": [order], "listed": []})
            content += line.encode() + b"\n"
        journal.write_bytes(content)
        self._counts["journals with orders of topics that are gone"] += 1

    def _collect_with_edited_disks(self) -> None:
        """Collect and decide with evidence of disks that was edited and sealed again. That changes nothing on the cluster."""
        files = sorted((self._workdir / DISKS).rglob("*.jsonl"))
        for path in self._random.sample(files * DISK_EDITS, len(files) * DISK_EDITS):
            kept = path.read_bytes()
            lines = [json.loads(line) for line in kept.splitlines()[:-1]]
            at = self._random.randrange(len(lines))
            change = self._random.choice((edited, edited, _of_other_epochs))
            path.write_bytes(sealed([*lines[:at], change(lines[at], self._random), *lines[at + 1 :]]))
            self._counts["disks with edited evidence"] += 1
            self._do("a plan with an edited disk", self._plan_in_check_mode)
            path.write_bytes(kept)

    def _plan_in_check_mode(self) -> dict[str, Any]:
        self._operator.collect(CHECKED)
        return self._operator.plan(CHECKED)

    def _elect_edited(self, landing: Path) -> None:
        """Elect by plans that were edited and sealed again, and by plans of edited evidence. The guards read all that again."""
        lines = [json.loads(line) for line in landing.read_bytes().splitlines()[:-1]]
        for _ in range(PLANS):
            elect = partial(self._operator.elect, RUN, check_mode=self._random.random() < CHECKED_SHARE)
            self._do("an edited plan", partial(self._elect_edited_plan, elect))
            self._do("a plan of edited evidence", partial(self._elect_edited_evidence, elect, landing, lines))

    def _elect_edited_plan(self, elect: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        path = Path(self._operator.plan(RUN)["path"])
        plan = json.loads(path.read_text())
        other = edited({name: plan[name] for name in ("partitions", "strategy", "ranking", "brokers", "held")}, self._random)
        path.write_text(json.dumps({**plan, **other, "sha256": plan_file.sha256({**plan, **other})}))
        return elect()

    def _elect_edited_evidence(self, elect: Callable[[], dict[str, Any]], landing: Path, lines: list[Any]) -> dict[str, Any]:
        at = self._random.randrange(len(lines))
        landing.write_bytes(sealed([*lines[:at], edited(lines[at], self._random), *lines[at + 1 :]]))
        try:
            self._operator.plan(RUN)
            return elect()
        finally:
            landing.write_bytes(sealed(lines))

    def between_runs(self) -> None:
        """Damage some files, run what reads them, and put them back."""
        files = self._files()
        for path in self._random.sample(files, min(FILES, len(files))):
            kept = path.read_bytes()
            how = self._damage(path, self._random.choice(files), in_check_mode=True)
            self._tell(f"{path.relative_to(self._workdir)} {how}")
            self._counts["files damaged"] += 1
            folder, *others = path.relative_to(self._workdir).parts
            before = self._judges.changes
            if folder == SAVED:
                self._do("the list of saved records", partial(self._operator.list_records, others[0], start_offset=0))
            self._do("an election", partial(self._recover_in_check_mode))
            if self._judges.changes != before:
                self._judges.add_violation(f"{path.name} {how}, and a run in check mode has changed the cluster")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(kept)
            self._operator.sync(path)
        self._read_forged()

    def _read_forged(self) -> None:
        """Forge parts of saved records, run what reads them, and put them back."""
        indexes = sorted((self._workdir / SAVED).rglob("*.jsonl"))
        for index in self._random.choices(indexes, k=FORGERIES) if indexes else ():
            part = index.with_suffix(".batches")
            kept, records = index.read_bytes(), part.read_bytes()
            how = forge(index, self._random)
            self._tell(f"{index.relative_to(self._workdir)} is forged: {how}")
            self._counts["parts of saved records forged"] += how is not None
            self._do("the list of saved records", partial(self._operator.list_records, index.parents[1].name, start_offset=0))
            self._read_forged_part(index.parents[1].name)
            for path, content in ((index, kept), (part, records)):
                path.write_bytes(content)
                self._operator.sync(path)

    def _read_forged_part(self, run_id: str) -> None:
        """Read a part of this run in another way, in a history that does."""

    @contextmanager
    def one_is_damaged(self) -> Iterator[bool]:
        """Damage one file in the block, in which a run changes the cluster. Put it back afterwards, with the lines that the run has appended.

        Yield whether there was one.
        """
        if not (files := self._files()):
            yield False
            return
        verdicts = self._judges.verdicts_of_lost_brokers()
        path = self._random.choice(verdicts if verdicts and self._random.random() < VERDICTS else files)
        kept = path.read_bytes()
        how = self._damage(path, self._random.choice(files))
        damaged = path.read_bytes() if path.exists() else b""
        self._operator.sync(path)
        self._tell(f"{path.relative_to(self._workdir)} {how}")
        self._counts["files damaged before a run"] += 1
        self._judges.files.damaged, self._judges.files.needs_damaged = path, False
        self._judges.files.set_aside = kept if path.parent.name == FOLDER else b""
        yield True
        self._counts["damaged verdicts that an election needed"] += self._judges.files.needs_damaged
        self._judges.files.damaged, self._judges.files.set_aside = None, b""
        present = path.read_bytes() if path.exists() else b""
        if path.parent.name == FOLDER:
            present = kept[: kept.rfind(b"\n") + 1] + b"".join(_added(damaged.splitlines(True), present.splitlines(True)))
        elif present == damaged:
            present = kept
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(present)
        self._operator.sync(path)
        self._tell(f"{path.relative_to(self._workdir)} is put back")

    def _files(self) -> list[Path]:
        return [path for path in self._operator.files() if path.relative_to(self._workdir).parts[0] not in EXCEPTED]

    def _recover_in_check_mode(self) -> dict[str, Any]:
        self._operator.collect(CHECKED)
        self._operator.plan(CHECKED)
        return self._operator.elect(CHECKED, check_mode=True)

    def _damage(self, path: Path, other: Path, in_check_mode: bool = False) -> str:
        """Damage a file. Return how. `in_check_mode`: whether only such runs read it. Others may do what the file says of another topic."""
        content = path.read_bytes()
        at = self._random.randrange(1 + len(content))
        ways: dict[str, Callable[[], object]] = {
            "is cut": lambda: path.write_bytes(content[:at]),
            "has another byte": lambda: path.write_bytes(content[:at] + bytes([self._random.randrange(256)]) + content[at + 1 :]),
            "is emptied": lambda: path.write_bytes(b""),
            "is removed": path.unlink,
            f"is {other.name}": lambda: path.write_bytes(other.read_bytes()),
            "is edited": lambda: path.write_bytes(_edited(content, self._random)),
            "is edited again": lambda: path.write_bytes(_edited(content, self._random)),
        }
        if in_check_mode and b'"topic_id"' in content:
            ways["is of topics that are gone"] = lambda: path.write_bytes(_of_other_topics(content, "topic", "gone"))
            ways["is of topics that were created again"] = lambda: path.write_bytes(_of_other_topics(content, "topic_id", OTHER_TOPIC))
        how = self._random.choice([*ways])
        ways[how]()
        return how

    def _do(self, what: str, work: Callable[[], dict[str, Any]]) -> None:
        try:
            result = work()
        except RecoveryError as error:
            self._tell(f"{what} fails: {error}")
            self._counts["damaged files refused"] += 1
            return
        self._tell(f"{what} ends: {ending(result)}")


def _added(before: Sequence[bytes], after: Sequence[bytes]) -> Sequence[bytes]:
    """Return the lines of a file without those with which it began before."""
    common = 0
    while common < min(len(before), len(after)) and before[common] == after[common]:
        common += 1
    return after[common:]


def _of_other_epochs(row: Mapping[str, Any], random: Random) -> dict[str, Any]:
    """Return evidence of a disk that contradicts that of survivors: later leader epochs, a later start, or another last batch."""
    if "epochs" not in row:
        return {**row}
    epoch, end = row["epochs"][-1]["epoch"], row["log_end_offset"]
    later = [{"epoch": epoch + random.choice((1, 9)), "start_offset": 0}]
    ways: list[dict[str, Any]] = [
        {"epochs": later},
        {"epochs": later, "log_start_offset": min(1, end - 1)},
        {"last_batch_base_offset": max(0, end - 2), "last_batch_transactional": not row["last_batch_transactional"]},
        {"log_start_offset": end - 1},
        {"epochs": [{"epoch": number, "start_offset": number} for number in range(min(end, 20))]},
    ]
    return {**row, **random.choice(ways)}


def _of_other_topics(content: bytes, name: str, value: str) -> bytes:
    """Return a file of JSON lines in which each value of this name is another one, and a seal that fits it."""
    try:
        lines = [json.loads(line) for line in re.sub(rf'("{name}": ?)"[^"]*"'.encode(), rf'\1"{value}"'.encode(), content).splitlines()]
    except ValueError:
        return content
    own, has_seal = _without_seal(lines)
    return _written(own, has_seal)


def _without_seal(lines: list[Any]) -> tuple[list[Any], bool]:
    """Return the lines of a file without its seal, and whether there is one."""
    has_seal = bool(lines) and isinstance(lines[-1], dict) and lines[-1].get("kind") == "seal"
    return lines[:-1] if has_seal else lines, has_seal


def _written(lines: list[Any], has_seal: bool) -> bytes:
    return sealed(lines) if has_seal else b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _edited(content: bytes, random: Random) -> bytes:
    """Return a file of JSON lines with another value in one of them, and a seal that fits it. Other bytes stay."""
    try:
        lines = [json.loads(line) for line in content.splitlines()]
    except ValueError:
        return content[::-1]
    if not lines:
        return b"{}\n"
    own, has_seal = _without_seal(lines)
    at = random.randrange(len(own))
    own[at] = edited(own[at], random)
    return _written(own, has_seal)
