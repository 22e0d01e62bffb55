# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of throttles: what stood before and what we set, written ahead, so that any later run removes exactly that.

`throttles/<cluster>.jsonl` holds a `set` line, on disk before a config is changed, and a `gone` line after it was taken out again. What is set
and not gone is ours: a run's (`run`), until it ends or, if it was killed, until the next one begins; or `standing`, until an operator removes it
or it expires (`expiry`). `asked` are the rates of the run that lives, which brokers get that it covers later.

The file is locked only while configs are changed, so that a rate can be changed while a run waits. A run that lives holds the lock of
`throttles/<cluster>.run`.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any, Self

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json, timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.append_only_file import JournalFile, locked, opened
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import (
    LAYERS,
    LIST,
    RUN,
    STANDING,
    Expiry,
    read_entry,
    read_rates,
    written_rates,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    AddedReplicas,
    Rates,
    SetRate,
    partition_of,
)

PATIENCE = 30.0  # seconds: another process has the journal open while it changes configs
GLANCE = 1.0  # seconds: whoever looks whether a run lives has the lock for a moment


class ThrottleJournalError(SpokenError):
    """The journal of throttles cannot be used; the text names it and the remedy."""


class ThrottleJournal(JournalFile):
    """The throttles of one cluster that are ours. Opened for as long as configs are changed, and no longer.

    Whether a run lives can be asked without that. `read_only`: for check mode, reads the file once, and remembers what would be written.
    """

    def __init__(self, workdir: Path, cluster: str, cluster_id: str, patience: float = PATIENCE, read_only: bool = False) -> None:
        path = work_file(workdir, "throttles", cluster, suffix=".jsonl", make=not read_only)
        super().__init__(path, patience, self._is_busy, read_only)
        self._living = path.with_suffix(".run")
        self._cluster_id = cluster_id
        self._was_read = False
        self._rates: dict[str, dict[tuple[int, str], SetRate]] = {}
        self._added: dict[str, dict[tuple[str, str, str], AddedReplicas]] = {}
        self._clusters: dict[str, str] = {}
        self.asked: Rates | None = None  # of the run that lives
        self.expiry: Expiry | None = None  # of the standing throttle; None: it stays until it is removed

    def __enter__(self) -> Self:
        if self._read_only and self._was_read:
            return self
        # Others may have changed it since it was open the last time.
        self._rates = {owner: {} for owner in LAYERS}
        self._added = {owner: {} for owner in LAYERS}
        self._clusters = {}
        self.asked = self.expiry = None
        super().__enter__()
        try:
            self._refuse_other_clusters()
        except BaseException:
            self._stream.close()
            raise
        if self._read_only:
            self._stream.close()  # others need not wait
            self._was_read = True
        return self

    def _is_busy(self) -> ThrottleJournalError:
        return ThrottleJournalError(f"another process is changing the throttles of this cluster ({self.path}); wait until it has ended")

    def _refuse_other_clusters(self) -> None:
        for owner, cluster_id in self._clusters.items():
            if cluster_id != self._cluster_id and (self._rates[owner] or self._added[owner]):
                raise ThrottleJournalError(
                    f"{self.path} has throttles that are set on cluster {cluster_id}, but this is {self._cluster_id}; "
                    "use another workdir or inventory name for this cluster"
                )

    def _take(self, number: int, line: bytes) -> None:
        try:
            entry = read_entry(line)
        except ValueError as error:
            raise ThrottleJournalError(
                f"{self.path}, line {number}: not an entry of a journal of throttles ({error}); compare the throttles of the cluster by hand "
                "(kafka-configs.sh --describe), then remove the file"
            ) from error
        if entry["kind"] == "asked":
            self.asked = read_rates(entry["rates"]) if entry["rates"] else None
            return
        if entry["kind"] == "expiry":
            self.expiry = Expiry(entry["expiry"]["seconds"], entry["expiry"]["at"]) if entry["expiry"] else None
            return
        owner = entry["owner"]
        if entry["kind"] == "set":
            self._clusters[owner] = entry["cluster_id"]
            self._remember(
                owner,
                [SetRate(row["broker"], row["config"], row["before"], (row["value"],)) for row in entry["rates"]],
                [
                    AddedReplicas(**{**_only(row, LIST), "entries": tuple(row["entries"])}, was_empty=row["was_empty"])
                    for row in entry["replicas"]
                ],
            )
        else:
            self._forget(
                owner,
                [(row["broker"], row["config"]) for row in entry["rates"]],
                [AddedReplicas(**{**_only(row, LIST), "entries": tuple(row["entries"])}) for row in entry["replicas"]],
            )

    # --- what is ours --------------------------------------------------------------------------------------------

    def rates(self, owners: Iterable[str] = LAYERS) -> dict[tuple[int, str], list[SetRate]]:
        """The rates that are ours, by broker and config, as layers: what was set last comes first."""
        found: dict[tuple[int, str], list[SetRate]] = {}
        for owner in sorted(owners, key=LAYERS.index):
            for key, rate in self._rates[owner].items():
                found.setdefault(key, []).append(rate)
        return found

    def replicas(self, owners: Iterable[str] = LAYERS, keys: Collection[TopicPartition] | None = None) -> dict[str, list[AddedReplicas]]:
        """The entries of lists that are ours, by owner; of all partitions, or of these."""
        found = {}
        for owner in owners:
            rows = [
                replace(row, entries=tuple(entry for entry in row.entries if keys is None or (row.topic, partition_of(entry)) in keys))
                for row in self._added[owner].values()
            ]
            found[owner] = [row for row in rows if row.entries]
        return found

    def stands(self) -> bool:
        """Whether there is a standing throttle."""
        return bool(self._rates[STANDING] or self._added[STANDING])

    def left_over(self) -> list[str]:
        """The owners whose throttles have to go, when no run lives: a run that was killed, and a standing throttle that has expired."""
        return [RUN, STANDING] if self.expiry is not None and self.expiry.is_over else [RUN]

    # --- writing -------------------------------------------------------------------------------------------------

    def ask(self, rates: Rates | None) -> None:
        """Note the rates of the run that lives; None: it has ended."""
        if rates == self.asked:
            return
        self.asked = rates
        self._append({"kind": "asked", "rates": None if rates is None else written_rates(rates)})
        self._empty()

    def expire(self, expiry: Expiry | None) -> None:
        """Note when the standing throttle expires. It has to be noted before that is set."""
        if expiry != self.expiry:
            self.expiry = expiry
            self._append({"kind": "expiry", "expiry": None if expiry is None else expiry._asdict()})

    def intend(self, owner: str, rates: Collection[SetRate], added: Collection[AddedReplicas]) -> None:
        """Announce what is to be set, on disk before this returns. A rate's last value is the one that is set now."""
        if not rates and not added:
            return
        self._append(
            {
                "kind": "set",
                "owner": owner,
                "cluster_id": self._cluster_id,
                "rates": [{**_key(rate), "before": rate.before, "value": rate.values[-1]} for rate in rates],
                "replicas": [asdict(row) for row in added],
            }
        )
        self._clusters[owner] = self._cluster_id
        self._remember(owner, [replace(rate, values=rate.values[-1:]) for rate in rates], added)

    def gone(self, owner: str, rates: Collection[SetRate], added: Collection[AddedReplicas]) -> None:
        """Note that these are set no more."""
        rates = [rate for rate in rates if (rate.broker, rate.config) in self._rates[owner]]
        if not rates and not added:
            return
        rows = [_only(asdict(row), LIST) for row in added]
        self._append({"kind": "gone", "owner": owner, "rates": [_key(rate) for rate in rates], "replicas": rows})
        self._forget(owner, [(rate.broker, rate.config) for rate in rates], added)
        self._empty()

    def _empty(self) -> None:
        """Empty the file if there is nothing left to remember: it is read again with every change, and must not grow for ever."""
        if not any(self._rates.values()) and not any(self._added.values()) and self.asked is None:
            self._cut(0)

    def _remember(self, owner: str, rates: Iterable[SetRate], added: Iterable[AddedReplicas]) -> None:
        for rate in rates:
            known = self._rates[owner].get((rate.broker, rate.config))
            merged = rate
            if known is not None:
                # Set again. What stood before the first time has to stand again, unless somebody has set something else since.
                before = known.before if rate.before in known.values else rate.before
                earlier = (value for value in known.values if value not in rate.values)
                merged = SetRate(rate.broker, rate.config, before, (*earlier, *rate.values))
            self._rates[owner][rate.broker, rate.config] = merged
        for row in added:
            key = (row.topic, row.topic_id, row.config)
            older = self._added[owner].get(key)
            entries = row.entries if older is None else tuple(dict.fromkeys((*older.entries, *row.entries)))
            self._added[owner][key] = replace(row if older is None else older, entries=entries)

    def _forget(self, owner: str, rates: Iterable[tuple[int, str]], added: Iterable[AddedReplicas]) -> None:
        for name in rates:
            self._rates[owner].pop(name, None)
        for row in added:
            key = (row.topic, row.topic_id, row.config)
            known = self._added[owner].get(key)
            if known is not None:
                gone = {*row.entries}
                left = tuple(entry for entry in known.entries if entry not in gone)
                if left:
                    self._added[owner][key] = replace(known, entries=left)
                else:
                    del self._added[owner][key]
        if not self.stands():
            self.expiry = None

    # --- the run that lives ----------------------------------------------------------------------------------------

    def living(self, run_id: str | None = None) -> Callable[[], None]:
        """Say that a run lives which throttles this cluster, until what this returns is called. ThrottleJournalError where another one does."""
        if self._read_only:
            self.refuse_run("wait until it has ended")
            return lambda: None
        stream = opened(self._living)
        if not locked(self._living, stream, GLANCE):
            with stream:
                raise _run_lives(stream, "wait until it has ended")
        stream.truncate(0)
        stream.write(
            json.dumps({"run_id": run_id, "host": socket.gethostname(), "pid": os.getpid(), "begun": timestamps.utc_now()}).encode()
        )
        stream.flush()
        return stream.close

    def refuse_run(self, remedy: str) -> None:
        """ThrottleJournalError, with this remedy, where a run throttles this cluster just now."""
        if self._living.exists():
            with opened(self._living) as stream:
                if not locked(self._living, stream, GLANCE):
                    raise _run_lives(stream, remedy)

    def run_lives(self) -> bool:
        """Whether a run throttles this cluster just now."""
        if not self._living.exists():
            return False
        with opened(self._living) as stream:
            return not locked(self._living, stream)


def _run_lives(stream: IO[bytes], remedy: str) -> ThrottleJournalError:
    return ThrottleJournalError(f"another run throttles this cluster{_holder(stream)}; {remedy}")


def _holder(stream: IO[bytes]) -> str:
    try:
        entry = strict_json.parse(stream.read(4096))
        return f": process {int(entry['pid'])} on {entry['host']}, since {entry['begun']}"
    except (ValueError, KeyError, TypeError):
        return ""


def _key(rate: SetRate) -> dict[str, Any]:
    return {"broker": rate.broker, "config": rate.config}


def _only(row: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in shape}
