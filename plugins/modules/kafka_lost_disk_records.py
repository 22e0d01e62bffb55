#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Save the records that only the disk of a lost broker has."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_lost_disk_records
short_description: Save the records that only the disk of a lost broker has
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - A broker that was lost before an unclean election may have records that the new leader does not have. When the broker starts, it truncates its logs to
    those of the new leaders, and these records are destroyed. Until then its disk has them.
  - Run this module before the broker is started again, on a host that has the disk mounted and reaches the cluster. Nothing on the disk is changed.
  - Reads each log on the disk as M(streamops.kafka_recovery.kafka_log_dir_info) does, and asks the present leader of its partition where the leader epochs of
    that log end. What follows the end of the last common leader epoch is only on this disk.
  - Saves these batches to C(<workdir>/saved/<run_id>/<cluster>), as M(streamops.kafka_recovery.kafka_replica_records) does, and returns whether the broker is
    safe to start.
  - If the partition has no leader and the broker is in the ISR or the ELR, the broker leads again when it starts, and live replicas truncate what its log
    lacks. That is read from these replicas and saved, too. Of such logs all CRCs are checked that Kafka checks when the broker starts. A broker that was not
    shut down cleanly leaves the ELR (KIP-966), and leads again only as the last known leader of an empty ELR.
  - What is damaged on the disk is left out, and the valid batches before and behind it are saved. RV(partitions[].unreadable) has its offsets.
  - Offsets that are missing although the topic is not compacted are saved as gaps, with a warning. The topic may have been compacted before.
  - Of a topic with tiered storage (KIP-405) the disk has only the newest part of the log. What this broker has copied to remote storage stays there when it
    starts, and is neither saved nor counted here, also if the new leader does not find it.
  - Needs DESCRIBE and READ on all topics, and DESCRIBE_CONFIGS on them to know which ones are compacted.
  - Writes whether the broker is safe to start, and the partitions of which the cluster does not have all records, to
    C(<workdir>/rescue/<cluster>/broker-<id>.json), too.
    M(streamops.kafka_recovery.kafka_lost_disk_info) warns if a broker comes back that was not. With O(broker_id), a disk that cannot be read or compared is
    not safe to start, either.
  - A second run with the same O(run_id) reads only what is not saved yet.
  - In check mode it only compares.
options:
  partitions:
    description:
      - Partitions to compare. Default is all partitions on the disk. Mutually exclusive with O(partitions_file).
      - With some partitions RV(safe_to_start) is never V(true), because a start of the broker truncates the others, too.
  log_dirs:
    description:
      - Log dirs of the broker (its C(log.dirs)) as they are mounted on this host. Name all of them, of one broker.
      - Log dirs of another cluster than the one that answers at O(bootstrap_servers), and log dirs that a running broker has locked, are refused.
      - Either O(log_dirs) or O(disk) is required.
    type: list
    elements: path
  disk:
    description:
      - What M(streamops.kafka_recovery.kafka_log_dir_info) with O(streamops.kafka_recovery.kafka_log_dir_info#module:whole_logs=true) has returned on another
        host, for a disk that this host does not have. All partitions on the disk are judged.
      - Records are saved from O(copy_dir). Without it nothing new is saved, and RV(partitions) says what is missing.
    type: dict
  copy_dir:
    description: Folder to which M(streamops.kafka_recovery.kafka_log_dir_copy) has copied the records. Only with O(disk).
    type: path
  broker_id:
    description: Id of the broker. A log dir of another broker is refused. Without it, all log dirs must be of the same broker.
    type: int
  give_up_partitions:
    description:
      - Partitions whose records on this disk you do without, as far as they cannot be saved. They are saved as all others, and do not appear in RV(reasons).
      - Name damaged logs, and logs that the broker was deleting, after you have copied their folders. Name replicas that were assigned to the broker after it
        was lost.
    type: list
    elements: dict
    suboptions:
      topic:
        description: Name of the topic.
        type: str
        required: true
      partition:
        description: Number of the partition.
        type: int
        required: true
  max_saved_partition_bytes:
    description: Most bytes that are saved of one partition. A partition with more is not saved. Default is no limit.
    type: int
  max_saved_bytes:
    description:
      - Most bytes that are saved in this run. Partitions beyond it are not saved. Default is no limit.
      - In any case 1 GiB of the file system of O(workdir) stays free, or 5 percent of a smaller one. What has no room is not saved.
    type: int
  max_saved_run_bytes:
    description:
      - Most bytes that the folder C(<workdir>/saved/<run_id>) has, of all clusters together. Partitions beyond it are not saved.
      - It also holds if other tasks save records of other clusters at the same time. What is saved already counts. Default is no limit.
    type: int
  saved_bytes_per_second:
    description: Most bytes that are read from the disk per second. Default is no limit.
    type: int
requirements:
  - crc32c >= 2.7
  - orjson >= 3.10
notes:
  - RV(safe_to_start) is about records that the disk has now. It does not judge the disk or the configuration of the broker.
  - RV(safe_to_start) is true at the time of the run. Run the module again directly before the start of the broker, because leaders change.
  - A partition that the cluster assigns to the broker, and that has no log in O(log_dirs), keeps the broker from being safe. So does one that was assigned to
    it before M(streamops.kafka_recovery.kafka_partition_revival) revived it with the same O(workdir). Topics that this login may not describe are not seen.
  - To find where a log ends, CRCs of its last 64 KiB are checked. What is saved is checked whole. Damage in what the leader has, too, is not looked for.
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
"""

EXAMPLES = r"""
- name: Save what only the disk of broker 1 has, and stop if it is not safe to start after that
  streamops.kafka_recovery.kafka_lost_disk_records:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    log_dirs:
      - /mnt/broker-1/data-1
      - /mnt/broker-1/data-2
    broker_id: 1
  register: disk
  failed_when: disk is failed or not (disk.safe_to_start or ansible_check_mode)
"""

RETURN = r"""
broker_id:
  description: Id of the broker whose disk it is.
  returned: success
  type: int
  sample: 1
safe_to_start:
  description:
    - Whether a start of the broker destroys no record that is not saved, on this disk or on a live replica. In check mode nothing is saved.
    - V(null) if only some partitions were selected, and nothing stands against a start there.
  returned: success
  type: bool
  sample: true
reasons:
  description: Why the broker must not be started yet, with the first partitions and what to do.
  returned: success
  type: list
  elements: str
  sample: ["1 partition (orders-0): there is no leader to compare with: start the brokers that are safe to start, or elect one, and run again"]
path:
  description: The folder of the saved records, V(null) if the disk has nothing that the cluster lacks. In check mode, the path that it would have.
  returned: success
  type: str
  sample: /var/lib/kafka-recovery/saved/2026-11-21/east
counts:
  description:
    - Numbers of partitions on the disk, by their RV(partitions[].relation), of those that are saved, of these the ones that an earlier run had saved, and of
      those that are to be saved and are not.
    - C(offsets) is the number of offsets that only the disk has, or may have, C(bytes) what this run has saved.
    - C(live_replicas) is the number of live replicas that truncate their logs when the broker starts.
  returned: success
  type: dict
  sample:
    partitions: 120
    only_on_disk: 3
    unknown: 0
    no_leader: 0
    clean_leader: 0
    other_topic: 1
    in_cluster: 116
    saved: 3
    saved_before: 0
    not_saved: 0
    offsets: 57
    bytes: 5230
    live_replicas: 0
partitions:
  description: The partitions on the disk, those with V(only_on_disk) first.
  returned: success
  type: list
  elements: dict
  contains:
    topic:
      description: Name of the topic.
      type: str
    partition:
      description: Number of the partition.
      type: int
    topic_id:
      description: Topic id of the log on the disk. V(null) if no file has it, or if the log cannot be read.
      type: str
    relation:
      description:
        - V(only_on_disk) if the disk has records that the partition's leader does not have, from RV(partitions[].start_offset) to RV(partitions[].end_offset)
          (exclusive).
        - V(in_cluster) if the leader has all of them, or had them and has deleted them. V(no_leader) if there is no leader to compare with.
        - V(clean_leader) if there is no leader, and the broker leads again when it starts. A start of the broker before an unclean election loses nothing that
          it has. For what others lose then, see RV(partitions[].live_replicas).
        - V(other_topic) if the topic was deleted or created again, or if this login may not describe it. V(unknown) otherwise. In both cases the whole log is
          saved.
      type: str
    start_offset:
      description: First offset that only the disk has, or may have. V(null) if there is none.
      type: int
    end_offset:
      description: The offset after the last one. V(null) if there is none.
      type: int
    leader_epoch:
      description: The partition's leader epoch when the disk was compared, V(null) if the cluster has no such partition.
      type: int
    leader_epochs:
      description: Leader epochs of these offsets, each with the first one (C(epoch) and C(start_offset)).
      type: list
      elements: dict
    saved:
      description: Whether these records are saved, V(null) if there are none.
      type: bool
    live_replicas:
      description:
        - Live replicas that truncate their logs when the broker starts and leads again (V(clean_leader)), with the offsets that they lose, and whether these
          are saved. C(start_offset) is V(null) for the whole log, C(end_offset) is V(null) if the log could not be read.
      type: list
      elements: dict
    compared_replicas:
      description: Ids of the live replicas that were compared with the log, if the broker leads again when it starts.
      type: list
      elements: int
    unreadable:
      description: Offsets from C(start_offset) to C(end_offset) (exclusive) that are damaged. C(end_offset) is null if nothing valid follows.
      type: list
      elements: dict
    damage:
      description: >-
        Why the log may have records that were not read. V(null) if it has none. Such a broker is safe to start only if O(give_up_partitions) names the
        partition.
      type: str
    reason:
      description: Why it is not saved, or why the relation is what it is. V(null) if there is nothing to say.
      type: str
  sample:
    - topic: orders
      partition: 0
      topic_id: 0wsEX7CPSmyXTcW-hn4sMw
      leader_epoch: 7
      relation: only_on_disk
      start_offset: 100
      end_offset: 150
      leader_epochs: [{epoch: 4, start_offset: 100}]
      saved: true
      live_replicas: []
      compared_replicas: []
      unreadable: []
      damage: null
      reason: null
unsaved:
  description: What is to be saved and is not, as O(streamops.kafka_recovery.kafka_log_dir_copy#module:logs) takes it.
  returned: success
  type: list
  elements: dict
  sample: [{topic: payments, partition: 3, start_offset: 400, end_offset: 410}]
unchecked:
  description:
    - Partitions that the broker leads again, and of which it is not known whether it keeps all of its log when it starts, because not all CRCs were checked.
      Only with O(disk). For O(streamops.kafka_recovery.kafka_log_dir_info#module:check_partitions).
  returned: success
  type: list
  elements: dict
  sample: []
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from functools import partial
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import journal_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.returning_leader import find_live_tails
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import (
    KafkaModule,
    partition_arguments,
    workdir_arguments,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.journal import FOLDER, RevivalJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict, last_in_sync
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_run import Revived, save_disk

UNSAVED = ("topic", "partition", "start_offset", "end_offset")


def lost_disk_records(module: KafkaModule, admin: ConsumerAdmin) -> dict[str, Any]:
    """Return what RETURN documents."""
    try:
        in_sync = last_in_sync.read(module.workdir, module.params["cluster"], admin.cluster_id)
        result = save_disk(module, admin, partial(find_live_tails, admin), _revived(module, admin), in_sync)
    except Exception as error:  # also a mistake in this collection: then nothing is known of the disk, either
        _withdraw(module, admin, str(error) if isinstance(error, RecoveryError) else f"the disk was not judged: {error!r}")
        raise
    # A subset of the partitions does not say that the broker is safe, so it replaces no verdict on all of them.
    if not module.check_mode and result["safe_to_start"] is not None:
        path = disk_verdict.path_of(module.workdir, module.params["cluster"], result["broker_id"])
        disk_verdict.write(path, admin.cluster_id, module.params["run_id"], result)
    unsaved = [{name: row[name] for name in UNSAVED} for row in result["partitions"] if row["saved"] is False]
    return {"changed": False, **result, "unsaved": unsaved}


def _revived(module: KafkaModule, admin: ConsumerAdmin) -> list[Revived]:
    """Return the partitions of the cluster that were revived with this workdir."""
    path = journal_file(module.workdir, FOLDER, admin.cluster_id, make=False)
    with RevivalJournal(path, admin.cluster_id, read_only=True) as journal:
        return [Revived(key, begun.topic_id, begun.original) for key, begun in journal.all.items()]


def _withdraw(module: KafkaModule, admin: ConsumerAdmin, reason: str) -> None:
    """Withdraw an earlier verdict on a disk that cannot be judged now: the broker of this disk is not known to be safe to start any more."""
    broker_id = module.params["broker_id"]
    if broker_id is None or module.check_mode or broker_id in admin.unfenced():
        return
    disk_verdict.withdraw(module.workdir, module.params["cluster"], admin.cluster_id, module.params["run_id"], broker_id, reason)


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **workdir_arguments(),
            **partition_arguments(),
            "log_dirs": {"type": "list", "elements": "path"},
            "disk": {"type": "dict"},
            "copy_dir": {"type": "path"},
            "broker_id": {"type": "int"},
            "give_up_partitions": {**partition_arguments()["partitions"]},
            "max_saved_partition_bytes": {"type": "int"},
            "max_saved_bytes": {"type": "int"},
            "max_saved_run_bytes": {"type": "int"},
            "saved_bytes_per_second": {"type": "int"},
        },
        mutually_exclusive=[("partitions", "partitions_file"), ("log_dirs", "disk"), ("disk", "partitions"), ("disk", "partitions_file")],
        required_one_of=[("log_dirs", "disk")],
        required_by={"copy_dir": "disk"},
    )
    module.require("crc32c", "orjson")
    module.run(lost_disk_records, ConsumerAdmin)


if __name__ == "__main__":
    main()
