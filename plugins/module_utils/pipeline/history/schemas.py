# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The history tables: one schema each. Offsets and counts in records, times in UTC.

Every table is partitioned by `cluster` (the inventory host's name) and `date` (of the run, in UTC), and each row says which run it is of.
All tables have one version, which stands in the manifest. It is raised with every change of a schema, and tables of another version are not read.
"""

from __future__ import annotations

VERSION = 2
PARTITIONED_BY = "cluster string, date date"

# Where rows come from: a recovery's evidence, or a snapshot of a healthy cluster. A run is known by its origin, cluster and run id.
RECOVERY, HEALTHY = "recovery", "healthy"

_PARTITION = "run_id string, topic string, partition int"
# Whether a dry run made the plan, whether the run was allowed to elect, and how many partitions that it was not about had no leader when it ended.
MODE_OF_RUN = "dry_run boolean, data_loss_allowed boolean, other_offline bigint"
# What the survivors of a partition truncate for its leader: records that are known, and replicas of which they are not.
TRUNCATED = "truncated_records bigint, truncated_unknown int"
IMPACT_OF_RUN = "impact_sha256 string, impact_at timestamp, impact map<string,bigint>"

SCHEMAS = {
    # Every observation of a replica.
    "replica_log": (
        f"{_PARTITION}, origin string, observed_at timestamp, topic_id string, leader int, leader_epoch int, broker_id int, broker_state string, "
        "rack string, in_isr boolean, in_elr boolean, in_last_known_elr boolean, min_insync_replicas int, cleanup_policy string, "
        "log_start_offset bigint, log_end_offset bigint, high_watermark bigint, partition_leader_epoch int, last_written_epoch int, error string"
    ),
    # Files that were refused. `kind`: landing, healthy, plan, result, impact.
    "quarantine": "run_id string, origin string, refused_at timestamp, kind string, path string, reason string",
    # The survivors of each offline partition, best first (`place` 1 is the winner).
    "candidates": (
        f"{_PARTITION}, observed_at timestamp, place int, broker_id int, evidence string, log_end_offset bigint, high_watermark bigint, "
        "last_written_epoch int, partition_leader_epoch int, proven bigint, resolved boolean, relation_to_winner string, common_offset bigint"
    ),
    # What was planned. `section`: partitions (to be elected), held, online. `strategy`: that of the partition's topic.
    "plan": (
        f"{_PARTITION}, plan_id string, planned_at timestamp, strategy string, ranking string, backend string, section string, "
        "designated_leader int, evidence string, reason_code string, explanation string"
    ),
    "result": (
        f"{_PARTITION}, finished_at timestamp, outcome string, leader int, designated_leader int, evidence string, reason string, "
        "reason_code string"
    ),
    # Of the leader that is planned or, where the partition is held, would be. A bound that is not known is null; `…_from` says what it rests on.
    # `gaps`: why there may be fewer records than offsets.
    "loss": (
        f"{_PARTITION}, leader int, lower_bound bigint, lower_bound_from string, upper_bound bigint, upper_bound_from string, "
        f"estimate bigint, estimate_from string, gaps array<string>, {TRUNCATED}"
    ),
    # What a look at consumers and producers has found, after a run: rows of each `kind` have the columns that it names, and the others are null.
    # group: those of a consumer group whose offsets have to be reset, or may have to be. transaction: one that is not ended.
    # partition: one that cannot be read, or not written with acks=all. canary: a record that was written to see. warning: what is not known.
    "impact": (
        f"{_PARTITION}, observed_at timestamp, kind string, group_id string, group_state string, group_type string, partitions int, in_doubt int, "
        "offsets_read_and_lost bigint, must_stop boolean, transactional_id string, state string, coordinator_state string, producer_id bigint, "
        "producer_epoch int, start_offset bigint, ends_in_seconds double, leader int, readable boolean, writable boolean, offset bigint, "
        "error string, read_back boolean, explanation string, command string"
    ),
    # Partitions of a healthy snapshot that are one failure from offline, or offline: `risks` are the words of `risk.RISKS`, worst first; `score` ranks.
    "risk": (
        f"{_PARTITION}, observed_at timestamp, leader int, replicas array<int>, isr array<int>, eligible_leader_replicas array<int>, "
        "risks array<string>, score int, depends_on array<int>"
    ),
    # One row per run and cluster: with it the run is in the tables, whole. The digests are those of the files that were read, or refused.
    # `remarks`: what is odd about the run, such as a clock that went backwards. `impact`: what a look at consumers and producers has counted, at
    # `impact_at`; both null where nobody has looked.
    "recovery_audit": (
        "run_id string, origin string, cluster_id string, collected_at timestamp, planned_at timestamp, finished_at timestamp, strategy string, "
        "ranking string, backend string, landing_sha256 string, plan_sha256 string, result_sha256 string, partitions bigint, "
        f"outcomes map<string,bigint>, table_rows map<string,bigint>, remarks array<string>, {IMPACT_OF_RUN}, {MODE_OF_RUN}"
    ),
}

# Which tables a run of each origin has rows in.
WRITTEN_BY = {
    RECOVERY: ("replica_log", "quarantine", "candidates", "plan", "result", "loss", "impact", "recovery_audit"),
    HEALTHY: ("replica_log", "quarantine", "risk", "recovery_audit"),
}


def columns(table: str) -> list[str]:
    """Names of the columns of a table, its partitions last."""
    # No type of a column at the top has a comma followed by a space.
    return [field.split()[0] for field in f"{SCHEMAS[table]}, {PARTITIONED_BY}".split(", ")]
