# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of throttles: earlier values and values that this collection set, written ahead, so that any later run removes exactly these.

`throttles/id-<cluster id>.jsonl` has a `set` line, on disk before a config is changed, and a `gone` line after it was removed again. A throttle with a
`set` line and no `gone` line is set. Its owner is a run (`run`), until the run ends or, if it was killed, until the next one begins; or
`standing`, until an operator removes it or it expires (`expiry`). `asked` has the rates of the active run, also for brokers that it covers later.
An `unanswered` line after a `set` line names the brokers that may still carry out changes; without it that may be any broker.

The file is locked only while configs are changed, so that a rate can be changed while a run waits. An active run holds `run_lock`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self, TypeAlias

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import journal_file, record_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.journal_file import HOLDER_LINE, JournalBusy, JournalFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import BROKER, TOPIC, Resource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import (
    LAYERS,
    LIST,
    RUN,
    STANDING,
    Expiry,
    encode_rates,
    encode_unanswered,
    read_entry,
    read_rates,
    read_unanswered,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    AddedReplicas,
    Rates,
    SetRate,
    partition_of,
    restored_value,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run_lock import RunLock
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.sent_changes import SentChanges

# Rates and entries of lists, by owner.
Recorded: TypeAlias = "Mapping[str, tuple[Sequence[SetRate], Sequence[AddedReplicas]]]"
FOLDER = "throttles"
LOCK_SECONDS = 30.0  # to wait for another process that has the journal open while it changes configs


class ThrottleJournal(JournalFile):
    """The throttles of one cluster that this collection has set. Open only while configs are changed.

    `patience`: seconds to wait for the lock. `read_only`: for check mode, reads the file once, and keeps in memory what would be written.
    `run_lock` needs no open journal.
    """

    def __init__(self, workdir: Path, cluster: str, cluster_id: str, patience: float = LOCK_SECONDS, read_only: bool = False) -> None:
        path = journal_file(workdir, FOLDER, cluster_id, make=not read_only)
        record_name(workdir, cluster, cluster_id, read_only)  # the report knows clusters by name
        super().__init__(path, patience, self._is_busy, read_only)
        self.run_lock = RunLock(path.with_suffix(".run"), read_only)
        self._cluster_id = cluster_id
        self._was_read = False
        self._rates: dict[str, dict[tuple[int, str], SetRate]] = {}
        self._added: dict[str, dict[tuple[str, str, str], AddedReplicas]] = {}
        self._clusters: dict[str, str] = {}
        self._sent = SentChanges()
        self.run_rates: Rates | None = None  # of the active run
        self.expiry: Expiry | None = None  # of the standing throttle; None: it stays until it is removed

    def __enter__(self) -> Self:
        if self._read_only and self._was_read:
            return self
        # Other processes may have changed the file since it was last open.
        self._rates = {owner: {} for owner in LAYERS}
        self._added = {owner: {} for owner in LAYERS}
        self._clusters = {}
        self._sent = SentChanges()
        self.run_rates = self.expiry = None
        super().__enter__()
        try:
            self._refuse_other_clusters()
            if self._file.length:
                self._empty()  # a run was killed before it did so
            self._name_holder()
        except BaseException:
            self._release()
            raise
        if self._read_only:
            self._release()  # other processes need not wait
            self._was_read = True
        return self

    def _is_busy(self) -> RecoveryError:
        return JournalBusy(
            f"another process is changing the throttles of this cluster with the journal {self.path}{self._holder()}; wait until it has ended"
        )

    def _refuse_other_clusters(self) -> None:
        for owner, cluster_id in self._clusters.items():
            if cluster_id != self._cluster_id and (self._rates[owner] or self._added[owner]):
                raise RecoveryError(
                    f"{self.path} has throttles that are set on cluster {cluster_id}, but this is {self._cluster_id}; "
                    "use another workdir or inventory name for this cluster"
                )

    def _take(self, number: int, line: bytes) -> None:
        try:
            entry = read_entry(line)
        except ValueError as error:
            raise RecoveryError(
                f"{self.path}, line {number}: not an entry of a journal of throttles ({error}); compare the throttles of the cluster by hand "
                "(kafka-configs.sh --describe), then remove the file"
            ) from error
        if entry["kind"] == HOLDER_LINE:
            return
        if entry["kind"] == "asked":
            self.run_rates = read_rates(entry["rates"]) if entry["rates"] else None
            return
        if entry["kind"] == "expiry":
            self.expiry = Expiry(entry["expiry"]["seconds"], entry["expiry"]["at"]) if entry["expiry"] else None
            return
        if entry["kind"] == "unanswered":
            self._sent.replace(read_unanswered(entry["changes"]), entry["listed"])
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
                entry["listed"],
            )
        else:
            self._forget(
                owner,
                [(row["broker"], row["config"]) for row in entry["rates"]],
                [AddedReplicas(**{**_only(row, LIST), "entries": tuple(row["entries"])}) for row in entry["replicas"]],
            )

    # --- reading -------------------------------------------------------------------------------------------------

    def rates(self, owners: Iterable[str] = LAYERS) -> dict[tuple[int, str], list[SetRate]]:
        """Return the rates that these owners have set, by broker and config, as layers: the last one that was set comes first."""
        found: dict[tuple[int, str], list[SetRate]] = {}
        for owner in sorted(owners, key=LAYERS.index):
            for key, rate in self._rates[owner].items():
                found.setdefault(key, []).append(rate)
        return found

    def replicas(self, owners: Iterable[str] = LAYERS, keys: Collection[TopicPartition] | None = None) -> dict[str, list[AddedReplicas]]:
        """Return the entries of lists that these owners have added, by owner: of all partitions (`keys` None), or of `keys`."""
        found = {}
        for owner in owners:
            rows = [
                replace(row, entries=tuple(entry for entry in row.entries if keys is None or (row.topic, partition_of(entry)) in keys))
                for row in self._added[owner].values()
            ]
            found[owner] = [row for row in rows if row.entries]
        return found

    def recorded(self) -> Recorded:
        """Return all that is set now."""
        return {owner: (list(self._rates[owner].values()), self.replicas([owner])[owner]) for owner in LAYERS}

    def unanswered(self) -> dict[Resource, frozenset[int] | None]:
        """Return the brokers that may still set what is recorded, by topic or broker. None: any broker, as the run was killed before it knew."""
        recorded = {Resource(BROKER, str(broker)) for broker, _config in self.rates()}
        recorded |= {Resource(TOPIC, row.topic) for rows in self.replicas().values() for row in rows}
        return {resource: brokers for resource, brokers in self._sent.unanswered().items() if resource in recorded}

    def listed(self) -> frozenset[int]:
        """Return the brokers that were listed when changes were recorded of which it is not known who may still make them."""
        return self._sent.listed

    def has_standing(self) -> bool:
        """Return whether there is a standing throttle."""
        return bool(self._rates[STANDING] or self._added[STANDING])

    def run_throttles(self) -> bool:
        """Return whether a run is active that throttles its moves. One that has not opened the journal yet has set nothing."""
        return self.run_rates is not None and self.run_lock.is_active()

    def shut_out_run(self) -> None:
        """Take the lock of moves if a run has left a throttle: one that is only stalled sets nothing more. Raises JournalBusy if a run is active."""
        if not self._read_only and (self._rates[RUN] or self._added[RUN]):
            self.note_doubt(self.run_lock.shut_out())

    def left_over(self) -> list[str]:
        """Return the owners whose throttles must be removed if no run is active: RUN (a killed run), and STANDING if it has expired."""
        return [RUN, STANDING] if self.expiry is not None and self.expiry.is_over else [RUN]

    # --- writing -------------------------------------------------------------------------------------------------

    def set_run_rates(self, rates: Rates | None) -> None:
        """Record the rates of the active run, None after it has ended. Raises FileError if the journal cannot be written."""
        if rates == self.run_rates:
            return
        self.run_rates = rates
        self._append({"kind": "asked", "rates": None if rates is None else encode_rates(rates)})
        self._empty()

    def set_expiry(self, expiry: Expiry | None) -> None:
        """Record when the standing throttle expires, None for never. Must be called before the throttle is set.

        Raises FileError if the journal cannot be written.
        """
        if expiry != self.expiry:
            self.expiry = expiry
            self._append({"kind": "expiry", "expiry": None if expiry is None else expiry._asdict()})

    def record_intent(self, owner: str, rates: Collection[SetRate], added: Collection[AddedReplicas], listed: Collection[int] = ()) -> None:
        """Record the throttles of `owner` that are to be set; they are on disk when this returns. The last of a rate's `values` is the one to set.

        `listed`: the brokers that may get the changes, none if they were sent before. Raises FileError if the journal cannot be written, RecoveryError if it
        could not be read again: then nothing may be set.
        """
        if not rates and not added:
            return
        entry = {
            "kind": "set",
            "owner": owner,
            "cluster_id": self._cluster_id,
            "rates": [{**_key(rate), "before": rate.before, "value": rate.values[-1]} for rate in rates],
            "replicas": [asdict(row) for row in added],
            "listed": sorted(listed),
        }
        try:
            read_entry(json.dumps(entry).encode())
        except ValueError as error:  # brokers may state anything as their rate
            raise RecoveryError(
                f"a throttle cannot be recorded ({error}), so nothing of it is set: correct what that broker or topic has (kafka-configs.sh --describe)"
            ) from error
        self._append(entry)
        self._clusters[owner] = self._cluster_id
        self._remember(owner, [replace(rate, values=rate.values[-1:]) for rate in rates], added, listed)

    def record_sending(self, resources: Collection[Resource], listed: Collection[int]) -> None:
        """Record that changes of these, of which the journal has throttles, are about to be sent. `listed`: the brokers that may get them.

        Raises FileError if the journal cannot be written.
        """
        if resources:
            self._sent.send(resources, listed)
            self._append_unanswered()

    def note_answers(self, unanswered: Mapping[Resource, Collection[int]]) -> None:
        """Record that the changes since `record_intent` or `record_sending` were answered, but by these brokers.

        Raises FileError if the journal cannot be written.
        """
        if self._sent.answer(unanswered):
            self._append_unanswered()

    def replace_unanswered(self, unanswered: Mapping[Resource, Collection[int]]) -> None:
        """Record that no broker but these may still carry out a change. Raises FileError if the journal cannot be written."""
        if self._sent.replace(unanswered):
            self._append_unanswered()

    def _append_unanswered(self) -> None:
        self._append({"kind": "unanswered", "changes": encode_unanswered(self.unanswered()), "listed": sorted(self._sent.listed)})

    def recall(self, before: Recorded) -> tuple[list[SetRate], list[AddedReplicas]]:
        """Record as left over by a run what was set `before` and is not recorded any more: a stalled run may set it again. Returns it.

        Raises FileError if the journal cannot be written.
        """
        known = {(row.topic, row.topic_id, row.config, entry) for rows in self.replicas().values() for row in rows for entry in row.entries}
        set_now = self.rates()
        rates, added = [], []
        for of_owner, rows in before.values():
            rates += [rate for rate in of_owner if (rate.broker, rate.config) not in set_now]
            for row in rows:
                lacking = tuple(one for one in row.entries if (row.topic, row.topic_id, row.config, one) not in known)
                added += [replace(row, entries=lacking)] if lacking else []
        self.record_intent(RUN, rates, added)
        return rates, added

    def record_removed(self, owner: str, rates: Collection[SetRate], added: Collection[AddedReplicas]) -> None:
        """Record that these rates and entries of `owner` are removed. Rates that the journal does not have are ignored.

        Raises FileError if the journal cannot be written.
        """
        rates = [rate for rate in rates if (rate.broker, rate.config) in self._rates[owner]]
        if not rates and not added:
            return
        rows = [_only(asdict(row), LIST) for row in added]
        self._append({"kind": "gone", "owner": owner, "rates": [_key(rate) for rate in rates], "replicas": rows})
        self._forget(owner, [(rate.broker, rate.config) for rate in rates], added)
        self._empty()

    def _empty(self) -> None:
        """Truncate the file if no throttle is set: it is read again with every change, and must not grow without bound."""
        if not any(self._rates.values()) and not any(self._added.values()) and self.run_rates is None:
            self._cut(0)
            self._sent = SentChanges()

    def _remember(self, owner: str, rates: Collection[SetRate], added: Collection[AddedReplicas], listed: Collection[int]) -> None:
        self._sent.send([Resource(BROKER, str(rate.broker)) for rate in rates] + [Resource(TOPIC, row.topic) for row in added], listed)
        for rate in rates:
            place = (rate.broker, rate.config)
            # What a run has set above a standing throttle is not what stood before that.
            above = [own[place] for layer in LAYERS[: LAYERS.index(owner)] if place in (own := self._rates[layer])]
            merged = replace(rate, before=restored_value(above, rate.before)[1])
            known = self._rates[owner].get(place)
            if known is not None:
                # Set again. The value before the first time is restored, unless others have changed the rate since.
                before = known.before if merged.before in known.values else merged.before
                earlier = (value for value in known.values if value not in rate.values)
                merged = SetRate(rate.broker, rate.config, before, (*earlier, *rate.values))
            self._rates[owner][place] = merged
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
                removed = {*row.entries}
                remaining = tuple(entry for entry in known.entries if entry not in removed)
                if remaining:
                    self._added[owner][key] = replace(known, entries=remaining)
                else:
                    del self._added[owner][key]
        if not self.has_standing():
            self.expiry = None


def _key(rate: SetRate) -> dict[str, Any]:
    return {"broker": rate.broker, "config": rate.config}


def _only(row: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in shape}
