# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cluster's recovery: what is to be elected, the elections, and the results that they leave."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import backends, blast_radius, election, interruption
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.budget import Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.sentences import MAY_LACK
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.designated import collect, designations
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.errors import SpokenError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence_collection import Sources, read_documents, with_evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.files import work_file, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.guards import (
    ALREADY_ONLINE,
    CLEAN_LEADER,
    ELECTED,
    FAILED,
    HELD,
    OUTCOMES,
    STALE,
    Entry,
    Result,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.instants import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.interruption import INTERRUPTED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.journal import Journal, Left, foreign, to_restore
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.native import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import (
    INTERNAL_TOPICS,
    PartitionState,
    TopicPartition,
    has_live_leader,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.planfile import PlanError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.given_up import each_kind_first, given_up, without_leader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.offline_list import WITHOUT_LEADER

ELECT: Mapping[str, election.Elect] = {backends.COMPAT: election.elect_by_order, backends.NATIVE: election.elect_by_designation}


class OtherClusterError(SpokenError):
    """A plan was made for another cluster."""


class Recovery:
    """What is to be elected in one cluster, the elections, and their results. `warnings` are for the operator.

    Making one proves that its files can be written, before anything is elected.
    """

    def __init__(
        self,
        cluster: NativeCluster,
        name: str,
        run_id: str,
        workdir: Path,
        duration: float,
        attempts: int,
        first_answer_seconds: float = 0.0,
        data_loss_allowed: bool = True,
        check_mode: bool = False,
    ) -> None:
        self._cluster = cluster
        self._header: dict[str, Any] = {
            "cluster": name,
            "cluster_id": cluster.cluster_id,
            "run_id": run_id,
            "plan_id": None,
            "backend": cluster.backend,
            "data_loss_allowed": data_loss_allowed,
            "other_offline_partitions": None,
        }
        self._workdir = workdir
        self._duration, self._first_answer_seconds = duration, first_answer_seconds
        self._attempts = attempts
        self._journal_path = work_file(workdir, "journal", name, suffix=".jsonl", make=not check_mode)
        self._results_path = work_file(workdir, "results", name, run_id, make=not check_mode)
        self._entries: list[Entry] = []
        self._connection: Connection | None = None
        self._brokers: set[int] = set()
        self._results: list[Result] = []
        self._repaired: list[str] = []
        self.warnings: list[str] = []

    def take_plan(self, plan: Mapping[str, Any], source: str) -> None:
        """Take what a plan designates, holds and found online. A bare KIP-1275 file gets its evidence now."""
        if "plan_id" not in plan:
            rows = [{**row, "designated_leader": row["designatedLeader"]} for row in plan["partitions"]]
            self.take_designations(rows, source)
            return
        if plan["cluster_id"] != self._cluster.cluster_id:
            raise OtherClusterError(
                f"{source} was made for cluster {plan['cluster']} ({plan['cluster_id']}), "
                f"but bootstrap_servers leads to {self._cluster.cluster_id}; give each cluster its own plan"
            )
        self._header["plan_id"] = plan["plan_id"]
        try:
            own = {row["topic"]: row["strategy"] for row in plan["topic_strategies"]}
            self._entries = [Entry.from_plan(row, own.get(row["topic"], plan["strategy"]), plan["ranking"]) for row in plan["partitions"]]
        except ValueError as error:
            raise PlanError(f"{source}: {error}; make the plan with this version of the collection") from error
        self._brokers = {row["broker_id"] for row in plan["brokers"]}
        self._results = [
            Result(
                row["topic"],
                row["partition"],
                # To wait does not help there.
                FAILED if row["reason_code"] == ReasonCode.UNKNOWN_TOPIC_OR_PARTITION else HELD,
                None,
                row.get("candidate"),
                row.get("evidence"),
                row["reason_code"],
                printable(row["explanation"]),
            )
            for row in plan["held"]
        ]
        self._results += [
            Result(
                row["topic"],
                row["partition"],
                ALREADY_ONLINE,
                row["leader"],
                None,
                None,
                ReasonCode.LEADS_ALREADY,
                f"broker {row['leader']} leads it",
            )
            for row in plan["online"]
        ]

    def take_designations(self, rows: Sequence[Mapping[str, Any]], source: str) -> None:
        """Take leaders that an operator named; see `designated.collect` for what cannot be elected."""
        self._entries, failed, warnings = collect(self._cluster, designations(rows, source), self._duration)
        self._results += failed
        self.warnings += warnings

    def collect_again(self, connection: Connection) -> None:
        """Collect the evidence of what the plan elects again: the election asks for the decision once more.

        Plans are files, and files can be old or forged. Leaders that an operator named have their evidence already.
        """
        self._connection = connection
        try:
            self._collect_again(connection, self._left_behind())
        except interruption.Interrupted:
            raise
        except SpokenError as error:
            self._give_up(error)

    def _give_up(self, error: SpokenError) -> None:
        """Elect no further entry of a plan: nothing is elected on evidence that could not be read."""
        done = {(result.topic, result.partition) for result in self._results}
        left = {entry.key: entry for entry in self._entries if not entry.by_hand and entry.key not in done}
        self._results += [Result.of(entry, FAILED, ReasonCode.REQUEST_FAILED, str(error)) for entry in left.values()]
        self._entries = [entry for entry in self._entries if entry.key not in left]

    def _collect_again(self, connection: Connection, left: Left) -> None:
        wanted = {entry.key for entry in self._entries if not entry.by_hand}
        if not wanted:
            return
        budget = Budget(self._duration, self._first_answer_seconds)
        sources = Sources(self._cluster, connection, self._workdir, self._header["cluster"], budget)
        with budget.state():
            states = self._cluster.partitions(wanted)
        states |= {key: replace(states[key], replicas=order) for key, order in to_restore(left, states).items() if key in wanted}
        warnings: list[str] = []
        # The leaders of these answered for the plan, perhaps as late.
        awaited = {entry.key for entry in self._entries if entry.policy.strategy == Strategy.AGGRESSIVE}
        found = sources.collect([state for key, state in states.items() if key in wanted], warnings, self._silent(states), awaited)
        try:
            sources.add_history(found)
        except interruption.Interrupted:
            raise
        except SpokenError as error:
            warnings.append(f"the history of ISRs cannot be read, so what the plan elects by it is stale: {error}")
        self.warnings += [warning for warning in warnings if warning not in self.warnings]
        documents = read_documents(found, {entry.key for entry in self._entries if entry.named}, sources.reassigning())
        facts = sources.facts(found)
        self._entries = [entry if entry.by_hand else with_evidence(entry, documents.get(entry.key), facts) for entry in self._entries]

    def _silent(self, states: Mapping[TopicPartition, PartitionState]) -> set[tuple[TopicPartition, int]]:
        """Replicas that did not answer for the plan. They are asked once: who accepted that is not kept waiting again."""
        return {
            (entry.key, broker)
            for entry in self._entries
            if entry.key in states
            for broker in states[entry.key].replicas
            if broker not in entry.survivors and broker not in states[entry.key].offline_replicas
        }

    def hold_all(self) -> None:
        """Elect nothing, because data loss is not allowed."""
        reason = "data loss is not allowed; set allow_data_loss (playbooks: -e kafka_recovery_allow_data_loss=true) to elect it"
        self._results += [Result.of(entry, HELD, ReasonCode.DATA_LOSS_NOT_ALLOWED, reason) for entry in self._entries]
        self._tell(self._left_behind())

    def keep_within(self, limits: blast_radius.Limits) -> None:
        """Raise BlastRadiusError where electing would reach further than `limits` allow, or a broker named as lost shows life."""

        def predicted() -> int:
            forecast = election.predict(self._cluster, self._entries, self._left_behind())
            return sum(1 for result in forecast if result.outcome == ELECTED)

        replicas = self._brokers.union(*(entry.replicas for entry in self._entries))
        blast_radius.check(self._cluster, self._header["cluster"], replicas, len(self._entries), predicted, limits)

    def predict(self) -> None:
        """Say what `elect` would do."""
        left = self._left_behind()
        self._results += election.predict(self._cluster, self._entries, left)
        self._tell(left)

    def elect(self) -> None:
        """Repair what a killed run left, then elect all entries, or as many as there is time for until a signal comes.

        Internal topics come first: while `__consumer_offsets` has no leader, no committed offset can be read, and these prove what was committed.
        """
        with Journal(self._journal_path, self._cluster.cluster_id, self._header["run_id"]) as journal:
            self._repaired = [f"{topic}-{partition}" for topic, partition in election.repair(self._cluster, journal)]
            deadline = time.monotonic() + self._duration
            internal = {entry.key for entry in self._entries if entry.topic in INTERNAL_TOPICS}
            first = self._run(journal, [entry for entry in self._entries if entry.key in internal], deadline)
            self._results += first
            if any(entry.key not in internal for entry in self._entries) and any(
                result.outcome in (ELECTED, CLEAN_LEADER) for result in first
            ):
                began = time.monotonic()
                self._read_offsets_again(journal)
                deadline += time.monotonic() - began
            self._results += self._run(journal, [entry for entry in self._entries if entry.key not in internal], deadline)
            try:
                if journal.left_behind():
                    election.repair(self._cluster, journal)
                self._tell(journal.left_behind())
            except SpokenError as error:
                self.warnings.append(f"replica orders of elections could not all be put back, run again to do it: {error}")

    def _read_offsets_again(self, journal: Journal) -> None:
        """Collect the evidence again: committed offsets can be read now, and may prove another branch of a fork."""
        if self._connection is None or interruption.noted():
            return
        try:
            self._collect_again(self._connection, journal.left_behind())
        except SpokenError as error:
            self._give_up(error)

    def _run(self, journal: Journal, entries: Sequence[Entry], deadline: float) -> list[Result]:
        """Elect these, and try again what failed until `deadline` of the monotonic clock."""
        seconds = max(0.0, deadline - time.monotonic())
        elect = ELECT[self._cluster.backend]
        return election.run(self._cluster, journal, entries, seconds, self._attempts, elect, interruption.noted) if entries else []

    def look_at_all_partitions(self) -> None:
        """Correct what the plan held or found online by what is so now, and count the partitions without a live leader that are not among the results.

        A cluster with any of them is not recovered. The number stays None, with a warning, if the cluster does not answer.
        """
        own = {(result.topic, result.partition) for result in self._results}
        try:
            alive = self._cluster.unfenced()
            states = self._cluster.partitions()
        except SpokenError as error:
            self.warnings.append(f"which partitions of {self._header['cluster']} have no leader now is not known: {error}")
            return
        self._results = [
            _as_it_is_now(result, state, alive) if (state := states.get((result.topic, result.partition))) else result
            for result in self._results
        ]
        others = [state for key, state in states.items() if key not in own and not has_live_leader(state, alive)]
        self._header["other_offline_partitions"] = len(others)

    def settle(self, told: Callable[[Sequence[Result]], Sequence[Result]]) -> None:
        """Let somebody who knows more make the reasons of results more exact."""
        self._results = list(told(self._results))

    def not_elected(self, dry_run: bool = False) -> Iterator[tuple[list[str], TopicPartition]]:
        """The partitions that this leaves without a leader, each with what says what to do next: its reason code, and its outcome.

        After a dry run they include those that a run would elect, as "planned", if these are all that the plan designates.
        """
        elected = sum(1 for result in self._results if result.outcome == ELECTED)
        for result in self._results:
            if result.outcome in WITHOUT_LEADER:
                yield [result.reason_code or "", result.outcome], (result.topic, result.partition)
            elif dry_run and result.outcome == ELECTED and elected == len(self._entries):
                yield ["planned"], (result.topic, result.partition)

    def _left_behind(self) -> Left:
        if not self._journal_path.exists():
            return {}
        with Journal(self._journal_path, self._cluster.cluster_id, read_only=True) as journal:
            return journal.left_behind()

    def _tell(self, left: Left) -> None:
        """Warn of replica orders that do not stand as they did."""
        states = self._cluster.partitions(set(left))
        changed, others = sorted(to_restore(left, states)), sorted(foreign(left, states))
        if changed:
            self.warnings.append(
                f"{len(changed)} partitions still have the replica order of an election ({_some(changed)}); "
                "run again with allow_data_loss to put their order back"
            )
        doubtful = sorted((self._cluster.in_doubt & left.keys()) - {*changed, *others})
        if doubtful:
            self.warnings.append(
                f"a request to change the replica order of {len(doubtful)} partitions ({_some(doubtful)}) was never answered, and a broker that "
                "hangs may still carry it out; run again with allow_data_loss when every broker answers, to put their order back should it have"
            )
        if others:
            self.warnings.append(
                f"{len(others)} partitions stand neither in the replica order from before an election nor in that of the election "
                f"({_some(others)}): another run, with another workdir, is electing them; run again when it has ended "
                f"(should somebody have meant that order: the one from before stands in {self._journal_path})"
            )

    def write_results(self) -> str:
        """Write the results file, one partition a line, and return its path."""
        head = {**self._header, "finished_at": utc_now(), "summary": self._summary()}
        ordered = sorted(self._results, key=lambda result: in_recovery_order((result.topic, result.partition)))
        # Not indented all through: that takes ten times as long, which counts while partitions are without a leader.
        lines = [json.dumps(head, indent=1).removesuffix("\n}"), ',\n "partitions": [']
        lines += [",".join(f"\n  {json.dumps(vars(result))}" for result in ordered), "\n ]\n}\n"]
        write_private(self._results_path, "".join(lines).encode())
        return str(self._results_path)

    def _summary(self) -> dict[str, int]:
        return {outcome: sum(1 for result in self._results if result.outcome == outcome) for outcome in OUTCOMES}

    def report(self, preview: int, with_diff: bool) -> dict[str, Any]:
        """What the module returns: `failed` when an election failed, `changed` when a leader was elected."""
        worst = each_kind_first(self._results)
        summary = self._summary()
        report: dict[str, Any] = {
            "changed": summary[ELECTED] > 0,
            "backend": self._cluster.backend,
            "summary": summary,
            "results": [asdict(result) for result in worst[:preview]],
            "without_leader": without_leader(worst, WITHOUT_LEADER),
            "given_up": given_up(self._results, preview),
            "other_offline_partitions": self._header["other_offline_partitions"],
            "repaired": self._repaired,
            "unreachable_brokers": self._cluster.unreachable_rows(),
        }
        stopped = sum(1 for result in self._results if result.reason_code == ReasonCode.INTERRUPTED)
        if stopped:
            online = sum(summary[outcome] for outcome in (ELECTED, ALREADY_ONLINE, CLEAN_LEADER))
            report["failed"] = True
            report["msg"] = (
                f"{INTERRUPTED} by {interruption.noted()}: {online} of {len(self._results)} partitions have a leader ({summary[ELECTED]} elected), "
                f"{stopped} were not reached; replica orders are put back, run again to go on"
            )
        elif self._header["data_loss_allowed"] and any(summary[outcome] for outcome in WITHOUT_LEADER):
            first = worst[0]
            counts = ", ".join(f"{summary[outcome]} {outcome}" for outcome in WITHOUT_LEADER if summary[outcome])
            report["failed"] = True
            report["msg"] = (
                f"{counts} of {len(self._results)} partitions have no leader, first {first.topic}-{first.partition}: {first.reason}"
            )
        if with_diff:
            report["diff"] = self._diff()
        return report

    def _diff(self) -> dict[str, str]:
        outcomes = {(result.topic, result.partition): result for result in self._results}
        before, after = [], []
        for entry in self._entries:
            result = outcomes[entry.key]
            if result.outcome == ELECTED:
                name = f"{printable(entry.topic)}-{entry.partition}: replicas {list(entry.replicas)}"
                cuts = "".join(f", broker {row['broker_id']} truncates {_from(row)}" for row in entry.truncated)
                before.append(f"{name}, no leader\n")
                after.append(f"{name}, leader {result.leader}{cuts}\n")
        return {"before": "".join(before), "after": "".join(after)}


def _as_it_is_now(result: Result, state: PartitionState, alive: set[int]) -> Result:
    """A result of the plan with the leader that its partition has now. Others were made from what the cluster said a moment ago."""
    leads = has_live_leader(state, alive)
    if result.outcome == HELD and leads:
        # The plan does not have what it takes to know whom the controller elects by itself.
        since = f"broker {state.leader} leads it: elected since the plan was made, by the controller or another run, and {MAY_LACK}"
        return replace(result, outcome=ALREADY_ONLINE, leader=state.leader, reason_code=ReasonCode.ELECTED_SINCE_PLAN, reason=since)
    if result.outcome == ALREADY_ONLINE and not leads:
        lost = "it had a leader and has none any more; make a new plan"
        return replace(result, outcome=STALE, leader=None, reason_code=ReasonCode.LEADER_LOST, reason=lost)
    return result


def _some(keys: Sequence[TopicPartition]) -> str:
    return ", ".join(f"{topic}-{partition}" for topic, partition in keys[:5]) + (", …" if len(keys) > 5 else "")


def _from(cut: Mapping[str, Any]) -> str:
    return "from where is not known" if cut["offset"] is None else f"{cut['records']} records from offset {cut['offset']} on"
