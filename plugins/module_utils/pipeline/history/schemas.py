# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The schemas of the history tables. Offsets and counts are in records, times in UTC.

Every table is partitioned by `cluster` (the inventory host's name) and `date` (of the run, in UTC), and each row has the id of its run. All tables have
one version, which is in the manifest. It is incremented with every change of a schema, and tables of another version are not read.
"""

from __future__ import annotations

VERSION = 4
PARTITIONED_BY = "cluster string, date date"

# The origin of rows: files of a recovery, or a healthy snapshot. Origin, cluster and run id identify a run.
RECOVERY, HEALTHY = "recovery", "healthy"

AUDIT = "recovery_audit"  # the table with one row for each run

_PARTITION = "run_id string, topic string, partition int"
# Whether a dry run made the plan, whether the run was allowed to elect, and how many other partitions had no leader when it ended.
MODE_OF_RUN = "dry_run boolean, data_loss_allowed boolean, other_offline bigint"
# Records that the survivors of a partition truncate for its leader: the known number of records, and the number of replicas without a known number.
TRUNCATED = "truncated_records bigint, truncated_unknown int"
IMPACT_OF_RUN = "impact_sha256 string, impact_at timestamp, impact map<string,bigint>"

SCHEMAS = {
    # One row per replica and collection.
    "replica_log": (
        f"{_PARTITION}, origin string, observed_at timestamp, topic_id string, leader int, leader_epoch int, broker_id int, broker_state string, "
        "rack string, in_isr boolean, in_elr boolean, in_last_known_elr boolean, min_insync_replicas int, cleanup_policy string, "
        "log_start_offset bigint, log_end_offset bigint, high_watermark bigint, partition_leader_epoch int, last_written_epoch int, error string"
    ),
    # Refused files. `kind`: landing, healthy, plan, result, impact.
    "quarantine": "run_id string, origin string, refused_at timestamp, kind string, path string, reason string",
    # The survivors of each offline partition, best first (`place` 1 is the winner).
    "candidates": (
        f"{_PARTITION}, observed_at timestamp, place int, broker_id int, evidence string, log_end_offset bigint, high_watermark bigint, "
        "last_written_epoch int, partition_leader_epoch int, proven bigint, resolved boolean, relation_to_winner string, common_offset bigint"
    ),
    # Entries of plans. `section`: partitions (to be elected), held, online. `strategy`: that of the partition's topic.
    "plan": (
        f"{_PARTITION}, plan_id string, planned_at timestamp, strategy string, ranking string, backend string, section string, "
        "designated_leader int, evidence string, reason_code string, explanation string"
    ),
    "result": (
        f"{_PARTITION}, finished_at timestamp, outcome string, leader int, designated_leader int, evidence string, reason string, "
        "reason_code string"
    ),
    # The loss with the designated leader or, for a held partition, with its best candidate. A bound that is not known is null; `…_from` is its source.
    # `gaps`: why there may be fewer records than offsets.
    "loss": (
        f"{_PARTITION}, leader int, lower_bound bigint, lower_bound_from string, upper_bound bigint, upper_bound_from string, "
        f"estimate bigint, estimate_from string, gaps array<string>, {TRUNCATED}"
    ),
    # The impact of a run on consumers and producers. Each `kind` has its own columns, and the others are null.
    # group: a consumer group whose offsets must be reset, or may have to be. transaction: one that is not ended.
    # partition: one that is not readable, or not writable with acks=all. canary: a record that was written as a test. warning: what is not known.
    "impact": (
        f"{_PARTITION}, observed_at timestamp, kind string, group_id string, group_state string, group_type string, partitions int, in_doubt int, "
        "offsets_read_and_lost bigint, must_stop boolean, transactional_id string, state string, coordinator_state string, producer_id bigint, "
        "producer_epoch int, start_offset bigint, ends_in_seconds double, leader int, readable boolean, writable boolean, offset bigint, "
        "error string, read_back boolean, explanation string, command string"
    ),
    # Partitions of a healthy snapshot that are offline or one failure from offline. `risks`: values of `risk_rules.RISKS`, worst first; `score` ranks them.
    # `failed_disks`: brokers that are alive, and whose disk with a replica has failed.
    "risk": (
        f"{_PARTITION}, observed_at timestamp, leader int, replicas array<int>, isr array<int>, eligible_leader_replicas array<int>, "
        "risks array<string>, score int, depends_on array<int>, failed_disks array<int>"
    ),
    # One row per run and cluster, which marks the run as completely ingested. The digests are those of its files, ingested or refused.
    # `remarks`: anomalies of the run, such as a clock that went backwards. `impact`: counts of the impact that was read at `impact_at`; both null if
    # the impact was not read.
    AUDIT: (
        "run_id string, origin string, cluster_id string, collected_at timestamp, planned_at timestamp, finished_at timestamp, strategy string, "
        "ranking string, backend string, landing_sha256 string, plan_sha256 string, result_sha256 string, partitions bigint, "
        f"outcomes map<string,bigint>, table_rows map<string,bigint>, remarks array<string>, {IMPACT_OF_RUN}, {MODE_OF_RUN}"
    ),
}

# The tables in which runs of each origin have rows.
WRITTEN_BY = {
    RECOVERY: ("replica_log", "quarantine", "candidates", "plan", "result", "loss", "impact", AUDIT),
    HEALTHY: ("replica_log", "quarantine", "risk", AUDIT),
}


def columns(table: str) -> list[str]:
    """Return the names of the columns of a table, in the order of its schema, `cluster` and `date` last. Raises KeyError for an unknown table."""
    # No type of a top-level column has a comma followed by a space.
    return [field.split()[0] for field in f"{SCHEMAS[table]}, {PARTITIONED_BY}".split(", ")]
