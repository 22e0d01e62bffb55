# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as Prometheus metrics, with KIP-966's names where it has one.

All metrics are gauges: they count rows of a history from which old days are removed, so they may go down. A textfile does not change between two
reports, so times are timestamps: queries compute the age with `time() - ...`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

try:
    import prometheus_client
    from prometheus_client.core import GaugeMetricFamily
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector
except ImportError:  # common.optional_imports names what is missing
    Collector = object  # type: ignore[misc, assignment]

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import KILLED_RUN, KINDS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.quorum_stability import STABLE
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import LAYERS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import consumers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.recovery_queries import PLANNED, WITHOUT_LEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.risk_queries import OFFLINE, ONE_FAILURE

PREFIX = "kafka_recovery"
# Planned, or tried without success: the next run of the plan elects a leader for them.
UNDER_RECOVERY = (PLANNED, Outcome.FAILED, Outcome.STALE)
Sample = tuple[Sequence[str], float]
# What the operations of each cluster were, by the cluster's name.
Found = Sequence[tuple[str, Mapping[str, Any]]]


def _seconds(instant: str) -> float:
    return datetime.fromisoformat(instant).timestamp()


class Metrics(Collector):
    """The metrics of one document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._doc = document

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, for prometheus_client."""
        doc = self._doc
        yield _gauge(
            "partitions",
            "Partitions of the reported recoveries, by how they ended.",
            ("cluster", "outcome"),
            (((row["cluster"], outcome), number) for row in doc["clusters"] for outcome, number in row["outcomes"].items()),
        )
        yield _gauge(
            "manual_leader_election_required_partition_count",
            "Partitions without a leader that wait for an operator, by the reason (KIP-966).",
            ("cluster", "reason"),
            self._held(),
        )
        yield _gauge(
            "unclean_recovery_partitions_count",
            "Partitions without a leader that a plan elects one for, and that have none yet (KIP-966).",
            ("cluster",),
            self._under_recovery(),
        )
        yield from self._finished()
        yield _gauge(
            "oldest_offline_timestamp_seconds",
            "When the partition that has been without a leader for longest was first seen without one. Absent where none is.",
            ("cluster",),
            (((cluster,), _seconds(since)) for cluster, since in doc["offline_since"].items() if since),
        )
        yield from self._risk()
        yield from self._loss()
        yield _gauge(
            "impact",
            "Impact of the reported recoveries on consumers and producers, by kind. Absent for a cluster whose impact was not read.",
            ("cluster", "kind"),
            (
                ((cluster, kind), value)
                for cluster, counts in consumers.by_cluster(doc).items()
                for kind, value in counts.items()
                if kind != "partitions"
            ),
        )
        yield _gauge(
            "quarantined_files",
            "Files that were refused, by kind.",
            ("cluster", "kind"),
            (((row["cluster"], row["kind"]), row["files"]) for row in doc["quarantine"]["counts"]),
        )
        yield _gauge(
            "quarantined_timestamp_seconds",
            "When a file was refused last, by kind.",
            ("cluster", "kind"),
            (((row["cluster"], row["kind"]), _seconds(row["last_at"])) for row in doc["quarantine"]["counts"] if row["last_at"]),
        )
        yield from operations_metrics(doc["operations"])
        yield _gauge("report_timestamp_seconds", "When this report was written.", (), [((), _seconds(doc["generated_at"]))])

    def _held(self) -> Iterator[Sample]:
        """Yield one sample per reason, and a zero for a cluster without such partitions, so that an alert can end."""
        waiting: dict[tuple[str, ...], int] = {}
        for row in self._doc["groups"]:
            if row["outcome"] in WITHOUT_LEADER and not row["online_later"]:
                key = (row["cluster"], row["reason_code"] or row["outcome"])
                waiting[key] = waiting.get(key, 0) + row["partitions"]
        calm = {row["cluster"] for row in self._doc["clusters"]} - {cluster for cluster, _since in waiting}
        yield from waiting.items()
        yield from (((cluster, "none"), 0) for cluster in sorted(calm))

    def _under_recovery(self) -> Iterator[Sample]:
        for cluster in self._doc["clusters"]:
            groups = [row for row in self._doc["groups"] if row["cluster"] == cluster["cluster"] and not row["online_later"]]
            yield (cluster["cluster"],), sum(row["partitions"] for row in groups if row["outcome"] in UNDER_RECOVERY)

    def _finished(self) -> Iterator[Metric]:
        labels, rows = ("cluster", "strategy", "evidence"), self._doc["unclean_recoveries"]
        yield _gauge(
            "unclean_recovery_finished_count",
            "Partitions that were given a leader from outside of the ISR, over the history that is kept (KIP-966, there a counter).",
            labels,
            (([row[label] for label in labels], row["elected"]) for row in rows),
        )
        yield _gauge(
            "unclean_recovery_finished_timestamp_seconds",
            "When a partition was given a leader from outside of the ISR last.",
            labels,
            (([row[label] for label in labels], _seconds(row["last_at"])) for row in rows if row["last_at"]),
        )

    def _electable(self) -> Iterator[Sample]:
        """Yield partitions of the newest snapshots by how many replicas may lead them without loss: none, one, or more."""
        risks = {(row["cluster"], row["risk"]): row["partitions"] for row in self._doc["risk"]["kinds"]}
        for row in self._doc["risk"]["snapshots"]:
            none, one = (risks.get((row["cluster"], kind), 0) for kind in (OFFLINE, ONE_FAILURE))
            yield (row["cluster"], "0"), none
            yield (row["cluster"], "1"), one
            yield (row["cluster"], "2+"), (row["partitions"] or 0) - none - one

    def _risk(self) -> Iterator[Metric]:
        risk = self._doc["risk"]
        yield _gauge(
            "risk_partitions",
            "Partitions of the newest healthy snapshot by risk; a partition may count for several risks.",
            ("cluster", "risk"),
            (((row["cluster"], row["risk"]), row["partitions"]) for row in risk["kinds"]),
        )
        snapshots = risk["snapshots"]
        yield _gauge(
            "electable_leaders_partitions",
            "Partitions of the newest healthy snapshot by how many live replicas may lead them without loss: of the ISR or the ELR (KIP-966).",
            ("cluster", "electable"),
            self._electable(),
        )
        below = {row["cluster"]: row["partitions"] for row in risk["kinds"] if row["risk"] == "below_min_isr"}
        yield _gauge(
            "global_under_min_isr_partition_count",
            "Partitions of the newest healthy snapshot with a leader and an ISR smaller than min.insync.replicas (KIP-966).",
            ("cluster",),
            (((row["cluster"],), below.get(row["cluster"], 0)) for row in snapshots),
        )
        yield _gauge(
            "snapshot_partitions",
            "Partitions in the newest healthy snapshot.",
            ("cluster",),
            (((row["cluster"],), row["partitions"]) for row in snapshots),
        )
        yield _gauge(
            "snapshot_timestamp_seconds",
            "When the newest healthy snapshot was collected.",
            ("cluster",),
            (((row["cluster"],), _seconds(row["collected_at"])) for row in snapshots),
        )

    def _loss(self) -> Iterator[Metric]:
        """Yield the metrics of losses. `kind`: given_up for partitions that got a leader, at_stake for the others."""
        labels = ("cluster", "kind")
        rows = [((row["cluster"], kind), row[kind]) for row in self._doc["clusters"] for kind in ("given_up", "at_stake")]
        rows = [(key, bounds) for key, bounds in rows if bounds["partitions"]]
        for name, bound in (("least", "lower_bound"), ("most", "upper_bound")):
            yield _gauge(
                f"loss_at_{name}_offsets",
                f"Committed offsets lost at {name}, added up over the partitions for which that is known.",
                labels,
                ((key, bounds[bound] or 0) for key, bounds in rows if bounds[f"{bound}_known"]),
            )
            yield _gauge(
                f"loss_at_{name}_unknown_partitions",
                f"Partitions for which it is not known how much is lost at {name}.",
                labels,
                ((key, bounds["partitions"] - bounds[f"{bound}_known"]) for key, bounds in rows),
            )


def operations_metrics(operations: Iterable[Mapping[str, Any]]) -> Iterator[Metric]:
    """Yield metrics of reassignments, throttles, leftovers and the metadata quorum, from rows of `operations.of_workdir`."""
    rows = list(operations)
    yield from _move_metrics([(row["cluster"], row["moves"]) for row in rows if row["moves"]])
    yield from _throttle_metrics([(row["cluster"], row["throttles"]) for row in rows if row["throttles"]])
    yield from _leftover_metrics([(row["cluster"], row["leftovers"]) for row in rows if row["leftovers"]])
    yield from _quorum_metrics([(row["cluster"], row["quorum"]) for row in rows if row["quorum"]])


def _move_metrics(moves: Found) -> Iterator[Metric]:
    measured = [(cluster, found) for cluster, found in moves if found["partitions"] is not None]
    yield _gauge(
        "reassignment_partitions",
        "Partitions of the last run that moved replicas: in_sync, or left to do, when it last wrote its progress.",
        ("cluster", "state"),
        (
            ((cluster, state), number)
            for cluster, found in measured
            for state, number in (("in_sync", found["in_sync"]), ("left", found["partitions"] - found["in_sync"]))
        ),
    )
    yield _gauge(
        "reassignment_bytes_behind",
        "Bytes that the last run that moved replicas had left to copy. Absent if unknown.",
        ("cluster",),
        (((cluster,), found["bytes_behind"]) for cluster, found in measured if found["bytes_behind"] is not None),
    )
    yield _gauge(
        "reassignment_ended",
        "1 if the last run that moved replicas has ended, 0 if it runs or was killed.",
        ("cluster",),
        (((cluster,), int(found["ended"])) for cluster, found in moves),
    )
    yield _gauge(
        "reassignment_timestamp_seconds",
        "When the last run that moved replicas wrote its progress last.",
        ("cluster",),
        (((cluster,), _seconds(found["updated_at"])) for cluster, found in moves),
    )


def _throttle_metrics(throttles: Found) -> Iterator[Metric]:
    yield _gauge(
        "throttles",
        "Throttle configs that were set and not removed yet, by owner: a run, or standing, which an operator removes.",
        ("cluster", "owner"),
        (((cluster, owner), found[owner]) for cluster, found in throttles for owner in LAYERS),
    )
    yield _gauge(
        "left_over_throttles",
        "Throttle configs of a run that has ended, or of a standing throttle that has expired.",
        ("cluster",),
        (((cluster,), found["left_over"]) for cluster, found in throttles),
    )


def _leftover_metrics(leftovers: Found) -> Iterator[Metric]:
    """Yield the metrics of leftovers, with a zero for each kind of a killed run, so that an alert can end."""
    yield _gauge(
        "leftovers",
        "What runs have left on the cluster when the playbook cleanup last looked, by kind and owner.",
        ("cluster", "kind", "owner"),
        (
            ((cluster, *key), number)
            for cluster, found in leftovers
            for key, number in {
                **{(kind, KILLED_RUN): 0 for kind in KINDS},
                **{(row["kind"], row["owner"]): row["count"] for row in found["remaining"]},
            }.items()
        ),
    )
    yield _gauge(
        "leftovers_timestamp_seconds",
        "When the playbook cleanup last looked.",
        ("cluster",),
        (((cluster,), _seconds(found["observed_at"])) for cluster, found in leftovers),
    )


def _quorum_metrics(quorums: Found) -> Iterator[Metric]:
    yield _gauge(
        "quorum_stable",
        "1 if the metadata quorum was stable when a run last asked for it, else 0.",
        ("cluster", "verdict"),
        (((cluster, found["verdict"]), int(found["verdict"] == STABLE)) for cluster, found in quorums),
    )
    yield _gauge(
        "quorum_voters",
        "Voters of the metadata quorum that follow its leader closely (the leader is one of them), or are behind.",
        ("cluster", "state"),
        (
            ((cluster, state), number)
            for cluster, found in quorums
            for state, number in (("following", found["voters"] - found["voters_behind"]), ("behind", found["voters_behind"]))
        ),
    )
    yield _gauge(
        "quorum_leader_epoch",
        "Leader epoch of the metadata quorum. Absent if no leader answered.",
        ("cluster",),
        (((cluster,), found["leader_epoch"]) for cluster, found in quorums if found["leader_epoch"] is not None),
    )
    yield _gauge(
        "quorum_timestamp_seconds",
        "When a run last asked for the metadata quorum.",
        ("cluster",),
        (((cluster,), _seconds(found["observed_at"])) for cluster, found in quorums),
    )


def _gauge(name: str, text: str, labels: tuple[str, ...], samples: Iterable[Sample]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=labels)
    for values, value in samples:
        family.add_metric([str(label) for label in values], value)
    return family


def registry(document: Mapping[str, Any]) -> prometheus_client.CollectorRegistry:
    """Return a registry with the metrics of one document, and no others."""
    made = prometheus_client.CollectorRegistry(auto_describe=False)
    made.register(Metrics(document))
    return made
