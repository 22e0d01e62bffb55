# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `kafka-dump-log.sh` shows of segment files."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rig import KafkaCluster
from rig.stock import tool

RECORD = re.compile(
    r"\| offset: (?P<offset>\d+) (?P<type>CreateTime|LogAppendTime): (?P<timestamp>-?\d+) keySize: (?P<key_size>-?\d+) "
    r"valueSize: (?P<value_size>-?\d+) sequence: (?P<sequence>-?\d+) headerKeys: \[(?P<headers>[^\]]*)\](?: key: (?P<key>.*?))?(?: payload: (?P<value>.*))?"
)
MARKER = re.compile(r"\| offset: (?P<offset>\d+) .* endTxnMarker: (?P<kind>\w+) coordinatorEpoch: (?P<epoch>\d+)")


@dataclass
class Dumped:
    """What the tool shows of one file, in its order. Texts of records and markers are as the patterns find them.

    batches        as the module kafka_log_dir_info returns them, without `base_timestamp`
    sequences      of the records
    horizons       base offsets of the batches whose tombstones and markers the cleaner will delete some day (KIP-534)
    invalid_bytes  at the end of the file
    """

    batches: list[dict[str, Any]] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    sequences: list[int] = field(default_factory=list)
    markers: list[dict[str, Any]] = field(default_factory=list)
    horizons: list[int] = field(default_factory=list)
    invalid_bytes: int = 0


def dumped(cluster: KafkaCluster, files: Iterable[Path], deep: bool = False) -> dict[Path, Dumped]:
    """Run the tool on files. `deep`: with the records of their batches."""
    found = {path: Dumped() for path in files}
    options = ["--deep-iteration", "--print-data-log"] if deep else []
    run = tool(cluster, _main_class(cluster), *options, "--files", ",".join(map(str, found)))
    assert run.returncode == 0, run
    current = Dumped()
    for line in run.stdout.split("\n"):
        if line.startswith("Dumping "):
            current = found[Path(line.removeprefix("Dumping "))]
        elif line.startswith("baseOffset: "):
            assert line.endswith("isvalid: true"), line
            current.batches.append(_batch(line))
            if "deleteHorizonMs: OptionalLong[" in line:
                current.horizons.append(current.batches[-1]["base_offset"])
        elif match := MARKER.fullmatch(line):
            current.markers.append(match.groupdict())
        elif match := RECORD.fullmatch(line):
            current.records.append(match.groupdict())
            current.sequences.append(int(current.records[-1].pop("sequence")))
        elif match := re.fullmatch(r"Found (\d+) invalid bytes at the end of .*", line):
            current.invalid_bytes = int(match[1])
        else:
            assert not line.startswith("| offset: "), line
    return found


def _main_class(cluster: KafkaCluster) -> str:
    """Return the class that the script runs: that of the tools, where they have it."""
    name = "org.apache.kafka.tools.DumpLogSegments"
    with zipfile.ZipFile(cluster.libs / f"kafka-tools-{cluster.settings.version}.jar") as jar:
        return name if f"{name.replace('.', '/')}.class" in jar.namelist() else "kafka.tools.DumpLogSegments"


def _batch(line: str) -> dict[str, Any]:
    shown = dict(re.findall(r"(\w+): (\S+)", line))
    return {
        "base_offset": int(shown["baseOffset"]),
        "last_offset": int(shown["lastOffset"]),
        "epoch": int(shown["partitionLeaderEpoch"]),
        "records": int(shown["count"]),
        "max_timestamp": int(shown.get("CreateTime") or shown["LogAppendTime"]),
        "producer_id": int(shown["producerId"]),
        "producer_epoch": int(shown["producerEpoch"]),
        "base_sequence": int(shown["baseSequence"]),
        "compression": shown["compresscodec"],
        "transactional": shown["isTransactional"] == "true",
        "control": shown["isControl"] == "true",
        "size": int(shown["size"]),
    }


def as_dumped(row: dict[str, Any]) -> dict[str, Any]:
    """Return an exported record (a row of Parquet) as the tool shows it."""

    def text(data: bytes | None) -> str | None:
        return None if data is None else data.decode(errors="replace")

    def size(data: bytes | None) -> str:
        return str(-1 if data is None else len(data))

    return {
        "offset": str(row["offset"]), "type": {"create": "CreateTime", "append": "LogAppendTime"}[row["timestamp_type"]],
        "timestamp": str(round(row["timestamp"].timestamp() * 1000)), "key_size": size(row["key"]), "value_size": size(row["value"]),
        "headers": ",".join(header["key"].decode() for header in row["headers"]), "key": text(row["key"]), "value": text(row["value"]),
    }  # fmt: skip
