# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which leaders were elected uncleanly and have not changed the ISR since (Kafka's leader recovery state): only the metadata log of the controllers says it."""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.controllers import Controllers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.metadata_log_reader import MetadataLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_records as records
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from rig import KafkaCluster
from simulation.cluster import SimulatedCluster
from simulation.kraft import Key

READ_SECONDS = 60.0


def recovering(real: KafkaCluster) -> dict[Key, bool]:
    """Return the recovery state of each partition of a real cluster, by its metadata log."""
    names: dict[str, str] = {}
    found: dict[Key, bool] = {}
    with Controllers(
        Connection(tuple(real.bootstrap_servers.split(",")), tuple(real.controller_bootstrap_servers.split(",")))
    ) as controllers:
        for entry in MetadataLog(controllers, READ_SECONDS):
            record = records.decode(entry.value)
            if isinstance(record, records.TopicCreated):
                names[record.topic_id] = record.name
            elif isinstance(record, records.PartitionRegistration | records.PartitionChange) and record.recovering is not None:
                found[names[record.topic_id], record.partition] = record.recovering
    return found


def differing_recovery(simulated: SimulatedCluster, real: KafkaCluster) -> list[str]:
    """Return in which partitions the recovery states of both clusters differ."""
    found = recovering(real)
    return [
        f"{key[0]}-{key[1]}: simulated {'recovering' if state.recovering else 'recovered'}, real the opposite"
        for key, state in simulated.controller.partitions.items()
        if state.recovering != found[key]
    ]
