# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as Prometheus metrics, with KIP-966's ideas: partitions that need a manual election, unclean recoveries, how long partitions are offline.

A textfile stands still between two reports, so times are given as timestamps: their age is for the query, `time() - ...`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

try:
    import prometheus_client
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector
except ImportError:  # libraries.py says why
    Collector = object  # type: ignore[misc, assignment]

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.report import WITHOUT_LEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import consumers

PREFIX = "kafka_recovery"
# Readable for the collector, which is another user.
MODE = 0o644
Sample = tuple[tuple[str, ...], float]


def _seconds(instant: str) -> float:
    return datetime.fromisoformat(instant).timestamp()


class Metrics(Collector):
    """The metrics of one document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._doc = document

    def collect(self) -> Iterator[Metric]:
        """For prometheus_client."""
        doc = self._doc
        yield _gauge(
            "partitions",
            "Partitions of the reported recoveries, by how they ended.",
            ("cluster", "outcome"),
            (((row["cluster"], outcome), number) for row in doc["clusters"] for outcome, number in row["outcomes"].items()),
        )
        yield _gauge(
            "manual_election_required_partitions",
            "Partitions without a leader that wait for somebody to decide, by the reason (KIP-966).",
            ("cluster", "reason"),
            self._held(),
        )
        unclean = CounterMetricFamily(
            f"{PREFIX}_unclean_recoveries",
            "Partitions that were given a leader from outside of the ISR, by strategy and evidence, over all history that is kept (KIP-966).",
            labels=("cluster", "strategy", "evidence"),
        )
        for row in doc["unclean_recoveries"]:
            unclean.add_metric([row["cluster"], row["strategy"], row["evidence"]], row["elected"])
        yield unclean
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
            "What the reported recoveries mean for consumers and producers, as somebody has seen it who looked; absent where nobody has.",
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
        yield _gauge("report_timestamp_seconds", "When this report was written.", (), [((), _seconds(doc["generated_at"]))])

    def _held(self) -> Iterator[Sample]:
        """One sample per reason, and a plain zero for a cluster where nobody has to decide anything, so that an alert can end."""
        waiting: dict[tuple[str, ...], int] = {}
        for row in self._doc["groups"]:
            if row["outcome"] in WITHOUT_LEADER:
                key = (row["cluster"], row["word"] or row["outcome"])
                waiting[key] = waiting.get(key, 0) + row["partitions"]
        calm = {row["cluster"] for row in self._doc["clusters"]} - {cluster for cluster, _since in waiting}
        yield from waiting.items()
        yield from (((cluster, "none"), 0) for cluster in sorted(calm))

    def _risk(self) -> Iterator[Metric]:
        risk = self._doc["risk"]
        yield _gauge(
            "risk_partitions",
            "Partitions of the newest healthy snapshot by what is wrong with them; one may count under several.",
            ("cluster", "risk"),
            (((row["cluster"], row["risk"]), row["partitions"]) for row in risk["kinds"]),
        )
        snapshots = risk["snapshots"]
        yield _gauge(
            "snapshot_partitions",
            "Partitions in the newest healthy snapshot.",
            ("cluster",),
            (((row["cluster"],), row["partitions"]) for row in snapshots),
        )
        yield _gauge(
            "snapshot_timestamp_seconds",
            "When the newest healthy snapshot was gathered.",
            ("cluster",),
            (((row["cluster"],), _seconds(row["collected_at"])) for row in snapshots),
        )

    def _loss(self) -> Iterator[Metric]:
        """`kind`: given_up where a leader was found, at_stake where none is yet."""
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


def _gauge(name: str, text: str, labels: tuple[str, ...], samples: Iterable[Sample]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=labels)
    for values, value in samples:
        family.add_metric([str(label) for label in values], value)
    return family


def registry(document: Mapping[str, Any]) -> prometheus_client.CollectorRegistry:
    """A registry with the metrics of one document, and no others."""
    made = prometheus_client.CollectorRegistry(auto_describe=False)
    made.register(Metrics(document))
    return made


def check(path: Path) -> None:
    """Raise FileError where `path` cannot be a textfile. It is the operator's own place, outside of the workdir: where the node exporter looks, say."""
    if path.is_symlink():
        raise FileError(f"textfile {path} is a symbolic link: name the real file")
    if path.suffix != ".prom":
        raise FileError(f"textfile {path} has to end with .prom, or no textfile collector reads it")
    if not path.parent.is_dir():
        raise FileError(f"cannot write textfile {path}: its directory has to be there")


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Replace the textfile `path`, whole or not at all. FileError where that cannot be."""
    check(path)
    try:
        prometheus_client.write_to_textfile(str(path), registry(document))
        path.chmod(MODE)
    except OSError as error:
        raise FileError(f"cannot write textfile {path}: {error.strerror}; its directory has to be writable") from error
