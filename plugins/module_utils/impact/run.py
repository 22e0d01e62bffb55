# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The impact of one run: collected from the cluster, summed up, and written to the workdir with offset files for Kafka's tools."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import Committed
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import EPOCHS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import remove, work_file, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.impact_file import FOLDER, SECTIONS, encode_row_per_line
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact import (
    analysis,
    availability,
    recovered_partitions,
    share_groups,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.kafka_cli import Tools
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.lost_record_counts import LostRecordCounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.recovered_partitions import RecoveredRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import consumers, kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group, ShareOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    has_live_leader,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.previews import one_of_each_kind_first
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_records import most_first, sums
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_commits import Transacted, saved_commits

Rows = list[dict[str, Any]]
Read = TypeVar("Read", Committed, ShareOffset)


class ConsumerImpact:
    """The impact of a run on consumers and producers. The constructor checks that files can be written. `warnings` are for the operator."""

    def __init__(
        self,
        cluster: ConsumerAdmin,
        name: str,
        run: RecoveredRun,
        run_id: str,
        workdir: Path,
        connection: Connection,
        check_mode: bool = False,
    ) -> None:
        self._cluster = cluster
        self._header = {"cluster": name, "cluster_id": cluster.cluster_id, "run_id": run_id, "observed_at": utc_now()}
        self._run = run
        self._workdir = workdir
        self._path = work_file(workdir, FOLDER, name, run_id, make=not check_mode)
        self._check_mode = check_mode
        self._commands = Commands(workdir)
        self._tools = Tools(",".join(connection.bootstrap_servers), self._commands, connection.security_protocol != "PLAINTEXT")
        self._rows: dict[str, Rows] = {section: [] for section in SECTIONS}
        self._times: dict[TopicPartition, int] = {}
        self._wrote = False
        self.warnings = list(run.warnings)

    def collect(self) -> None:
        """Read partitions, groups and transactions from the cluster."""
        states = self._states()
        if not states:
            return
        unfenced = self._cluster.unfenced()
        leaders = {key: states[key].leader for key in sorted(states) if has_live_leader(states[key], unfenced)}
        found = self._cluster.group_offsets(states.keys())
        shares, missing = self._cluster.share_offsets(found.share_groups, leaders) if found.share_groups else ([], [])
        if blind := [*found.blind, *missing]:
            self.warnings.append(f"groups and their offsets may be missing: {'; '.join(blind)}")
        if found.offsets or shares:
            self._read_evidence()
        before = {key: self._run.partitions[key] for key in sorted(states, key=in_recovery_order)}
        epochs = {key: set() if part.leader_epoch is None else {part.leader_epoch} for key, part in before.items()}
        for key, epoch in [*((row[1], row[3]) for row in found.offsets), *((share.key, share.leader_epoch) for share in shares)]:
            epochs[key] |= {epoch} if epoch >= 0 else set()
        committed, shares = self._limit_epochs(found.offsets, epochs), self._limit_epochs(shares, epochs)
        logs = self._cluster.logs(leaders, epochs)
        configs = self._cluster.topic_configs({topic for topic, _partition in before})
        if problem := configs.problem():
            self.warnings.append(problem)
        self._rows["partitions"] = [
            availability.partition_row(part, states[key], logs.get(key, consumers.LeaderLog()), configs.of(key[0]), unfenced)
            for key, part in before.items()
        ]
        counts = LostRecordCounts(self._workdir, self._header["cluster"], self._header["run_id"], self._run)
        if counts.error:
            self.warnings.append(f"what became of lost records is not known: {counts.error}")
        self._rows["records"] = counts.rows()
        replayed = {key: counts.replayed(key, states[key].topic_id) for key in before}
        offsets = list(analysis.group_rows(committed, before, logs, found.groups, self._run.committed_before, self._tools, replayed))
        offsets += self._with_commands(list(share_groups.share_rows(shares, before, logs, found.groups, replayed)), leaders)
        self._rows["offsets"] = offsets
        self._rows["groups"] = analysis.group_totals(offsets, found.groups)
        # A survivor that was lost since has followed the new leader.
        lost = {
            key: {*(states[key].replicas if part.lost_replicas is None else part.lost_replicas)} - unfenced for key, part in before.items()
        }
        self._rows["transactions"] = self._transactions(leaders, {key: counts.unsaved_disks(key, lost[key]) for key in leaders})

    def _with_commands(self, shares: Rows, leaders: Mapping[TopicPartition, int]) -> Rows:
        """Return rows of share groups with their commands. One time serves all groups on a partition: that of the first offset to reset to."""
        rows = [row for row in shares if row["reset_to"] is not None]
        first: dict[TopicPartition, int] = {}
        for row in rows:
            key = row["topic"], row["partition"]
            first[key] = min(row["reset_to"], first.get(key, row["reset_to"]))
        self._times = self._cluster.times_before(first, leaders) if first else {}
        for row in rows:
            key = row["topic"], row["partition"]
            row["command"] = self._tools.reset_share(row["group"], [key], self._times.get(key))
        return shares

    def _reset_of_share_group(self, group: str, resets: Rows) -> str | None:
        """Return the command for all of these partitions of a share group: to the earliest of their times."""
        keys = [(row["topic"], row["partition"]) for row in resets]
        times = [self._times.get(key, -1) for key in keys]
        return self._tools.reset_share(group, keys, min(times))

    def _limit_epochs(self, committed: list[Read], epochs: dict[TopicPartition, set[int]]) -> list[Read]:
        """Return the committed offsets whose leader epochs are queried: at most EPOCHS per partition. Others are removed from `epochs`, with a warning."""
        for key, own in epochs.items():
            first = self._run.partitions[key].leader_epoch
            own.difference_update(sorted(own - {first})[EPOCHS:])
        known = [row for row in committed if row[3] < 0 or row[3] in epochs[row[1]]]
        if len(known) < len(committed):
            self.warnings.append(
                f"{len(committed) - len(known)} committed offsets are not checked: groups committed more than {EPOCHS} leader epochs on a partition"
            )
        return known

    def _read_evidence(self) -> None:
        earlier = self._run.warnings
        self._run = recovered_partitions.with_evidence(
            self._run, self._workdir, self._header["cluster"], self._header["run_id"], self._header["cluster_id"]
        )
        self.warnings += self._run.warnings[len(earlier) :]

    def _states(self) -> dict[TopicPartition, PartitionState]:
        """Return the states of the recovered partitions that still exist. Others get a warning."""
        known = self._cluster.partitions(self._run.partitions.keys())
        found, gone = {}, []
        for key, before in self._run.partitions.items():
            state = known.get(key)
            if state is None or before.topic_id not in (None, state.topic_id):
                gone.append(f"{key[0]}-{key[1]}")
            else:
                found[key] = state
        if gone:
            self.warnings.append(
                f"{len(gone)} partitions were deleted, or deleted and created again, since they were recovered ({', '.join(gone[:5])})"
            )
        return found

    def _transactions(self, leaders: Mapping[TopicPartition, int], unsaved_disks: Mapping[TopicPartition, list[int]]) -> Rows:
        seen = self._cluster.active_transactions(leaders)
        if seen.unanswered:
            key, error = min(seen.unanswered.items())
            self.warnings.append(
                f"transactions on {len(seen.unanswered)} partitions are not known (first {key[0]}-{key[1]}: {error}); "
                "grant READ on the topic for DescribeProducers"
            )
        if seen.blind:
            self.warnings.append(f"not all transactions are known: {'; '.join(seen.blind)}")
        commits = self._saved_commits(
            {(key, one.producer_id) for key, rows in seen.producers.items() for one in rows if one.start_offset >= 0}
        )
        now = int(time.time() * 1000)
        return list(analysis.transaction_rows(seen.producers, seen.transactions, seen.blind, now, self._tools, commits, unsaved_disks))

    def _saved_commits(self, wanted: set[Transacted]) -> set[Transacted] | None:
        try:
            return saved_commits(self._workdir, self._header["cluster"], self._header["cluster_id"], wanted)
        except RecoveryError as error:
            self.warnings.append(f"no transaction that hangs is to be aborted, since saved records cannot be read: {error}")
            return None

    def write_canaries(self, topic: str, check_mode: bool) -> None:
        """Write one record to each partition of `topic` and fetch it back. In check mode only list the partitions.

        Raises RecoveryError if the topic is internal or does not exist.
        """
        if topic.startswith("__"):
            raise RecoveryError(f"canary_topic {topic} is Kafka's own: name a topic that was made for canaries")
        states = self._cluster.partitions_of(topic)
        if not states:
            raise RecoveryError(
                f"there is no canary_topic {topic} (or no DESCRIBE permission on it): create it, a partition for each broker"
            )
        unfenced = self._cluster.unfenced()
        leaders = {key: states[key].leader for key in sorted(states) if has_live_leader(states[key], unfenced)}
        written: Mapping[TopicPartition, Mapping[str, Any]] = {}
        if not check_mode:
            written = self._cluster.write_canaries(leaders, json.dumps(self._header))
        unled: dict[str, Any] = {"offset": None, "error": kafka_errors.LEADER_NOT_AVAILABLE, "read_back": False}
        unwritten: dict[str, Any] = {"offset": None, "error": None, "read_back": False}
        self._rows["canaries"] = [
            {"topic": topic, "partition": key[1], **(written.get(key, unwritten) if key in leaders else unled)} for key in sorted(states)
        ]
        self._wrote = bool(leaders) if check_mode else any(row["offset"] is not None for row in written.values())

    def write(self) -> str:
        """Write the impact file, and an offset file for each group that needs a reset. Return the path of the impact file.

        In check mode write neither and return an empty path. Commands that need an offset file are left out then.
        """
        if self._check_mode:
            self._rows["groups"] = [{**group, "command": None} for group in self._rows["groups"]]
            self._commands.write()
            return ""
        pattern = re.compile(rf"{re.escape(self._path.stem)}\.reset-\d+\.csv")
        mounts.list_folder(self._path.parent)
        for old in self._path.parent.iterdir():
            if pattern.fullmatch(old.name):
                remove(old)
        for number, group in enumerate(self._rows["groups"], start=1):
            resets = [row for row in self._rows["offsets"] if row["group"] == group["group"] and row["certain"]]
            group["command"] = None
            if resets and Group(type=group["group_type"] or "").is_share:
                group["command"] = self._reset_of_share_group(group["group"], resets)
            elif resets:
                path = self._path.with_name(f"{self._path.stem}.reset-{number}.csv")
                content = "".join(f"{row['topic']},{row['partition']},{row['reset_to']}\n" for row in resets).encode()
                write_private(path, content)
                group["command"] = self._tools.reset_from(group["group"], group["group_type"] or "", path, content)
        self._commands.write()
        write_private(self._path, encode_row_per_line({**self._header, "summary": self._summary(), "warnings": self.warnings}, self._rows))
        return str(self._path)

    def result_entry(self) -> dict[str, Any]:
        """Return the entry for the results of the run: path, time and summary."""
        return {"path": str(self._path), "observed_at": self._header["observed_at"], "summary": self._summary()}

    def _summary(self) -> dict[str, int]:
        parts, offsets = self._rows["partitions"], self._rows["offsets"]
        states = [row["state"] for row in self._rows["transactions"]]
        return {
            "partitions": len(parts),
            "not_readable": sum(1 for row in parts if not row["readable"]),
            "not_writable": sum(1 for row in parts if row["writable"] is False),
            "groups": sum(1 for row in self._rows["groups"] if row["partitions"]),
            "offsets_to_reset": sum(1 for row in offsets if row["certain"]),
            "offsets_in_doubt": sum(1 for row in offsets if not row["certain"]),
            "transactions_hanging": states.count(analysis.HANGING),
            "transactions_open": states.count(analysis.OPEN),
            "transactions_records_lost": states.count(analysis.RECORDS_LOST),
            "transactions_in_doubt": states.count(analysis.IN_DOUBT),
        }

    def report(self, preview: int) -> dict[str, Any]:
        """Return the result of the module. Lists have at most `preview` rows; `changed` is true if a canary was written."""
        return {
            "changed": self._wrote,
            "summary": self._summary(),
            "partitions": _some((row for row in self._rows["partitions"] if row["explanation"]), ("readable", "writable"), preview),
            "groups": self._rows["groups"][:preview],
            "offsets": _some(self._rows["offsets"], ("reason", "group"), preview),
            "transactions": _some(self._rows["transactions"], ("state",), preview),
            "records": most_first(self._rows["records"])[:preview],
            "record_counts": sums(self._rows["records"]),
            "canaries": _some(self._rows["canaries"], ("error", "read_back"), preview),
            "unreachable_brokers": self._cluster.unreachable_rows(),
        }


def _some(rows: Iterable[Mapping[str, Any]], kinds: Sequence[str], preview: int) -> list[dict[str, Any]]:
    return [dict(row) for row in one_of_each_kind_first(list(rows), lambda row: tuple(row[kind] for kind in kinds))[:preview]]


def assess(
    cluster: ConsumerAdmin, params: Mapping[str, Any], workdir: Path, connection: Connection, check_mode: bool
) -> tuple[dict[str, Any], list[str]]:
    """Assess the impact of a run, and write it to the workdir and to the results of the run. Return it as `kafka_consumer_impact_info` does.

    `params`: the options of that module. The second value has warnings. Check mode writes nothing. Raises RecoveryError if files of the run
    cannot be used or the cluster does not answer.
    """
    plan = Path(params["plan"]) if params["plan"] else None
    run = recovered_partitions.read(workdir, params["cluster"], params["run_id"], cluster.cluster_id, plan)
    impact = ConsumerImpact(cluster, params["cluster"], run, params["run_id"], workdir, connection, check_mode)
    impact.collect()
    if params["canary_topic"]:
        impact.write_canaries(params["canary_topic"], check_mode)
    path = impact.write()
    if not check_mode:
        recovered_partitions.note_impact(workdir, params["cluster"], params["run_id"], run, impact.result_entry())
    return {**impact.report(params["preview"]), "path": path}, impact.warnings
