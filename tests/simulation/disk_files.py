# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the logs of a simulated broker that is down to a folder, as Kafka has them in its log dirs."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from pathlib import Path
from random import Random

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.topic_rows import topic_id
from simulation.broker import Broker
from simulation.disk_script import CUT, ZEROS
from simulation.disks import FIRST, LOG_DIRS, SECOND
from simulation.kraft import Key
from simulation.logs import Log, batch
from simulation.metadata_answers import topic_uuid

ZERO_BYTES, HEADER_BYTES = 4096, 61


def write_log_dirs(
    folder: Path, broker: Broker, random: Random, torn: str | None = None, damaged: Collection[Key] = (), has_all: bool = True
) -> list[str]:
    """Write the log dirs of a broker below `folder`, and return their paths.

    torn     what follows the end of some logs, if the broker was not shut down
    damaged  partitions of whose logs the second batch is damaged
    has_all  whether the log dir is written, too, that has failed
    """
    logs: Mapping[Key, Log] = broker.logs | broker.disks.kept
    paths = []
    for number, log_dir in enumerate(LOG_DIRS):
        if log_dir == SECOND and broker.disks.has_failed and not has_all:
            continue
        path = folder / f"data-{number}"
        path.mkdir()
        own = {key: log for key, log in logs.items() if (key in broker.disks.on_second) == (log_dir != FIRST)}
        _write_own_files(path, broker, number, own, random)
        for key, log in own.items():
            torn_here = None if broker.was_shut_down or random.random() < 0.5 else torn
            _write_log(path / f"{key[0]}-{key[1]}", log, random, torn_here, key in damaged)
        paths.append(str(path))
    return paths


def _write_own_files(path: Path, broker: Broker, number: int, logs: Mapping[Key, Log], random: Random) -> None:
    """Write the files of a log dir itself. Its checkpoints lag, and some logs are in none."""
    identity = topic_id(uuid.UUID(int=(broker.node_id << 96) + number + 1))
    meta = {"version": 1, "cluster.id": broker.cluster.cluster_id, "node.id": broker.node_id, "directory.id": identity}
    (path / "meta.properties").write_text("#\n" + "".join(f"{name}={value}\n" for name, value in meta.items()))
    (path / ".lock").touch()
    if broker.was_shut_down:
        (path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":7}')
    points = {key: [log.start, *(one.last + 1 for one in log.batches)] for key, log in logs.items()}
    _write_offsets(
        path / "replication-offset-checkpoint",
        {
            key: random.choice([at for at in points[key] if at <= log.high_watermark] or [log.start])
            for key, log in logs.items()
            if random.random() < 0.7
        },
    )
    flushed = {key: log.end if broker.was_shut_down else log.start for key, log in logs.items()}
    _write_offsets(path / "recovery-point-offset-checkpoint", flushed)
    _write_offsets(path / "log-start-offset-checkpoint", {key: log.start for key, log in logs.items() if log.start})


def _write_offsets(path: Path, offsets: Mapping[Key, int]) -> None:
    rows = "".join(f"{topic} {partition} {offset}\n" for (topic, partition), offset in offsets.items())
    path.write_text(f"0\n{len(offsets)}\n{rows}")


def _write_log(path: Path, log: Log, random: Random, torn: str | None, is_damaged: bool) -> None:
    path.mkdir()
    (path / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id(topic_uuid(log.topic_id))}")
    rows = "".join(f"{epoch} {offset}\n" for epoch, offset in log.epochs)
    (path / "leader-epoch-checkpoint").write_text(f"0\n{len(log.epochs)}\n{rows}")
    cut = random.randrange(len(log.batches)) if log.batches else 0  # where the second segment begins
    for batches in (log.batches[:cut], log.batches[cut:]) if cut else (log.batches,):
        content = b"".join(_damaged(one.data) if is_damaged and one is log.batches[1] else one.data for one in batches)
        if not batches or batches[-1] is log.batches[-1]:
            content += _torn_end(log, torn)
        base = batches[0].base if batches else log.start
        (path / f"{base:020d}.log").write_bytes(content)
        (path / f"{base:020d}.index").touch()


def _torn_end(log: Log, torn: str | None) -> bytes:
    """Return what follows the last batch: what the broker was writing when it was killed."""
    if torn is None:
        return b""
    if torn == ZEROS:
        return bytes(ZERO_BYTES)
    data = batch(log.end, log.epochs[-1][0] if log.epochs else 0, "torn", 1).data
    return data[:-3] if torn == CUT else _damaged(data)


def _damaged(data: bytes) -> bytes:
    """Return a batch one of whose records has another byte."""
    return data[: HEADER_BYTES + 8] + bytes((data[HEADER_BYTES + 8] ^ 1,)) + data[HEADER_BYTES + 9 :]
