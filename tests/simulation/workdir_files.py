# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the files of control nodes say, read with the judges' own eyes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simulation.kraft import Key
from simulation.operator import NAME

# What a run that changes nothing may write.
MAY_BE_WRITTEN = ("landing", "plans", "commands", "rehearsal.partitions.json", "rehearsal.moves.json")
JOURNALS = "journal", "throttles"
LOCKS = ".lock", ".bytes"  # the latter one counts only while a process that saves has it locked


@dataclass
class Intent:
    """An intent of a journal. `orders`: that a run may have set. `elections`: partitions that an election of it may still reach.

    changed  partitions whose orders are others than before
    brokers  that may still carry out what a run has sent them
    """

    orders: list[tuple[Key, tuple[int, ...]]]
    elections: set[Key] = field(default_factory=set)
    changed: set[Key] = field(default_factory=set)
    brokers: set[int] = field(default_factory=set)


class WorkdirFiles:
    """Reads the files of a workdir. `set_aside`: a journal before it was damaged. `damaged`: a file that is damaged while a run works.

    `needs_damaged`: an election of that run needed what is in it.
    """

    def __init__(self, workdir: Path) -> None:
        self.workdir = workdir
        self.set_aside = b""
        self.damaged: Path | None = None
        self.needs_damaged = False

    def open_orders(self) -> dict[Key, list[tuple[int, ...]]]:
        """Return the orders that the journal has open, by partition."""
        found: dict[Key, list[tuple[int, ...]]] = {}
        for intent in self._open_intents():
            for key, order in intent.orders:
                found.setdefault(key, []).append(order)
        return found

    def open_elections(self) -> set[Key]:
        """Return the partitions whose orders the journal has open with an election that a run may have sent."""
        return {key for intent in self._open_intents() for key in intent.elections}

    def open_for_others(self, brokers: Collection[int]) -> set[Key]:
        """Return the partitions whose orders the journal has open, and another broker than these may still change them, for all that it knows."""
        return {key for intent in self._open_intents() if intent.brokers - {*brokers} for key, _order in intent.orders}

    def changed_orders(self) -> set[Key]:
        """Return the partitions that the journal has open with another order than before."""
        return {key for intent in self._open_intents() for key in intent.changed}

    def unsettled(self) -> set[Key]:
        """Return the partitions that the journal has open with another order than before, or with an election that a run may have sent."""
        return {key for intent in self._open_intents() for key in intent.changed | intent.elections}

    def _open_intents(self) -> Iterator[Intent]:
        """Yield what is open in journals, read with our own eyes. A later line on the elections of an intent replaces the one before."""
        files = [file.read_bytes() for file in (self.workdir / "journal").glob("*.jsonl")]
        for content in (*files, self.set_aside):
            intents: dict[str, Intent] = {}
            # A line may be cut off by a kill, or damaged.
            for entry in parsed(content):
                if entry.get("kind") == "intent":
                    changed = {_key(row) for row in entry["orders"] if row["changed"] != row.get("original")}
                    orders = [(_key(row), tuple(row["changed"])) for row in entry["orders"]]
                    intents[entry["id"]] = Intent(orders, changed=changed, brokers={*entry.get("listed", ())})
                elif entry.get("kind") == "election" and entry["id"] in intents:
                    intent = intents[entry["id"]]
                    intent.elections = {_key(row) for row in entry["partitions"]}
                    # Which broker has got an election is not known.
                    intent.brokers = {*entry.get("unanswered_by", ())} | (intent.brokers if entry["partitions"] else set())
                elif entry.get("kind") == "done":
                    intents.pop(entry["id"], None)
            yield from intents.values()

    def lacks_saved(self) -> bool:
        """Return whether a file of saved records is damaged now. It is put back when the run has ended."""
        return self.damaged is not None and self.damaged.relative_to(self.workdir).parts[0] == "saved"

    def has_saved(self, key: Key, contents: Collection[bytes]) -> bool:
        """Return whether a part of saved records has one of these, and its index says so. Batches without an index cannot be read again."""
        for index in (self.workdir / "saved").rglob("*.jsonl"):
            batches = index.with_suffix(".batches")
            content = batches.read_bytes() if batches.exists() else b""
            for row in parsed(index.read_bytes()):
                if row.get("kind") == "piece" and (row["topic"], row["partition"]) == key:
                    part = content[row["position"] : row["position"] + row["bytes"]]
                    if any(data in part for data in contents):
                        return True
        return False

    def verdict(self, broker: int) -> Path:
        """Return the file that says whether a broker is safe to start."""
        return self.workdir / "rescue" / NAME / f"broker-{broker}.json"

    def parts(self, run_id: str) -> dict[str, list[dict[str, Any]]]:
        """Return what each part says that a run has saved, by the name of its index."""
        folder = self.workdir / "saved" / run_id / NAME
        return {
            name: [row for row in parsed((folder / name).read_bytes()) if row.get("kind") == "piece"] for name in self.part_names(run_id)
        }

    def part_names(self, run_id: str) -> list[str]:
        """Return the names of the indexes of what a run has saved."""
        return sorted(index.name for index in (self.workdir / "saved" / run_id / NAME).glob("*.jsonl"))

    def is_unsafe(self, broker: int) -> bool:
        """Return whether a file says that a broker is not safe to start."""
        file = self.verdict(broker)
        if not file.exists():
            return False
        try:
            return json.loads(file.read_bytes())["safe_to_start"] is False
        except (ValueError, KeyError, TypeError):  # damaged, or half of it
            return False

    def journals(self) -> list[str]:
        """Return the journals of orders and throttles, each with a digest."""
        return _digests(file for folder in JOURNALS for file in (self.workdir / folder).rglob("*.jsonl"))

    def temporary(self) -> set[Path]:
        """Return the files that stand for others while these are written. A lock file stays, for the next run."""
        return {path for path in self.workdir.rglob(".*") if path.is_file() and not path.name.endswith(LOCKS)}

    def digests(self, *may_be_written: str) -> list[str]:
        """Return the files of the workdir, each with a digest, but for those of evidence, of plans, of commands and in `may_be_written`."""
        excepted = (*MAY_BE_WRITTEN, *may_be_written)
        return _digests(one for one in self.workdir.rglob("*") if one.is_file() and one.relative_to(self.workdir).parts[0] not in excepted)


def _digests(files: Iterable[Path]) -> list[str]:
    return sorted(f"{one} {hashlib.sha256(one.read_bytes()).hexdigest()}" for one in files)


def _key(row: Mapping[str, Any]) -> Key:
    return row["topic"], row["partition"]


def parsed(content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines, without lines that are none."""
    for line in content.splitlines():
        with suppress(ValueError):
            if isinstance(row := json.loads(line), dict):
                yield row
