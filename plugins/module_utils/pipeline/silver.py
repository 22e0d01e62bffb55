# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Silver: what the rows say about each partition, checked and put together. Nothing is decided here."""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.bronze import BROKER_STATES, REPLICA, STATE, TOPIC_ID
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.columns import all_of, any_of, first, present

RELATIONS = ("same", "prefix", "forked", "unknown")


def partitions(partition_records: DataFrame, brokers: DataFrame) -> DataFrame:
    """One row per partition.

    The fields of its state, and:
    `survivors`: replicas on unfenced brokers which answered, in assignment order, each with its `position` there and its
    `relations` to every other survivor (`other`, `relation`, `shorter`, `common_offset`, `reason`, and the other's end and high watermark);
    `unanswered`: (broker_id, error) of replicas on unfenced brokers which did not;
    `lost`: (broker_id, broker_state, silent_seconds) of replicas on brokers that are not unfenced;
    `defects`: why its rows cannot be trusted (then there are no survivors: nothing may be concluded from their measurements);
    `proofs`: the committed offsets, per survivor;
    `history`: what the metadata log says of it (see `isr_history.rows`), null where it was not read.
    `healthy`: the newest healthy snapshot in which it had a leader, null where there is none;
    `eligible_leader_replicas_version`: the cluster's level of that feature (KIP-966), null where it is not known;
    `collected_at`: when the file was gathered, in milliseconds since 1970.
    """
    state = first("states")
    checked = partition_records.withColumn("defects", _defects(state)).withColumn(
        "survivors",
        F.when(F.size("defects") == 0, _survivors(state)).otherwise(F.array().cast(f"array<struct<{_types(REPLICA)}, position: int>>")),
    )
    return checked.join(F.broadcast(brokers), "cluster", "left").select(
        "cluster",
        "topic",
        "partition",
        *(state[name].alias(name) for name in (field.split()[0] for field in STATE.split(", "))),
        _related(F.col("survivors"), F.col("pairs")).alias("survivors"),
        F.transform(
            F.filter("replica_rows", lambda row: (row["broker_state"] == "unfenced") & ~_answered(row)),
            lambda row: F.struct(row["broker_id"].alias("broker_id"), F.coalesce(row["error"], F.lit("no log end offset")).alias("error")),
        ).alias("unanswered"),
        F.transform(
            F.filter("replica_rows", lambda row: row["broker_state"] != "unfenced"),
            lambda row: F.struct(
                row["broker_id"].alias("broker_id"),
                row["broker_state"].alias("broker_state"),
                first(F.filter("brokers", lambda broker: broker["broker_id"] == row["broker_id"]))["silent_seconds"].alias(
                    "silent_seconds"
                ),
            ),
        ).alias("lost"),
        "defects",
        "proofs",
        first("histories").alias("history"),
        first("healthy_rows").alias("healthy"),
        "eligible_leader_replicas_version",
        "collected_at",
    )


def _types(fields: str) -> str:
    return ", ".join(field.replace(" ", ": ", 1) for field in fields.split(", "))


def _answered(row: Column) -> Column:
    return row["error"].isNull() & row["log_end_offset"].isNotNull()


def _survivors(state: Column) -> Column:
    """Replicas that can be elected, by their place in the assignment."""
    alive = F.filter("replica_rows", lambda row: present((row["broker_state"] == "unfenced") & _answered(row)))
    placed = F.transform(
        alive, lambda row: F.struct(F.array_position(state["replicas"], row["broker_id"]).cast("int").alias("position"), row.alias("log"))
    )
    return F.transform(F.sort_array(placed), lambda row: row["log"].withField("position", row["position"]))


def _related(survivors: Column, pairs: Column) -> Column:
    """Give each survivor its relation to every other: the pairs are written once, here they can be read from both sides."""

    def relation(one: Column, other: Column) -> Column:
        pair = first(
            F.filter(
                pairs,
                lambda row: (
                    (row["broker_a"] == F.least(one["broker_id"], other["broker_id"]))
                    & (row["broker_b"] == F.greatest(one["broker_id"], other["broker_id"]))
                ),
            )
        )
        return F.struct(
            other["broker_id"].alias("other"),
            F.coalesce(pair["relation"], F.lit("unknown")).alias("relation"),
            pair["shorter"].alias("shorter"),
            pair["common_offset"].alias("common_offset"),
            F.when(pair.isNull(), F.lit("the snapshot has no comparison of them")).otherwise(pair["reason"]).alias("reason"),
            other["log_end_offset"].alias("log_end_offset"),
            other["high_watermark"].alias("high_watermark"),
        )

    return F.transform(
        survivors,
        lambda one: one.withField(
            "relations",
            F.transform(F.filter(survivors, lambda other: other["broker_id"] != one["broker_id"]), lambda other: relation(one, other)),
        ),
    )


def _defects(state: Column) -> Column:
    """Say what contradicts the landing file's own rules, as an array of texts, empty for a sound partition.

    The seal proves that the rows are what the gathering wrote, so a defect means that writer and reader disagree; then the
    partition's rows prove nothing, and no strategy may elect on them.
    """
    known = F.transform("replica_rows", lambda row: row["broker_id"])
    answered = F.transform(F.filter("replica_rows", _answered), lambda row: row["broker_id"])
    offline = state["leader"] < 0
    return F.array_compact(
        F.array(
            _defect(F.size("states") == 0, "rows for it, but no partition row"),
            _defect(F.size("states") > 1, "more than one partition row"),
            _defect(F.col("damaged_rows") > 0, "a row that breaks the schema"),
            _defect((F.size("states") > 0) & ~_sound_state(state), "a partition row with missing or impossible values"),
            _defect(any_of("replica_rows", _unsound_log), "a replica row with missing or impossible values"),
            _defect(F.size(known) != F.size(F.array_distinct(known)), "two rows for one replica"),
            _defect(F.size(F.array_except(known, state["replicas"])) > 0, "a replica row of a broker outside the assignment"),
            _defect(offline & (F.size(F.array_except(state["replicas"], known)) > 0), "no row for one of its replicas"),
            _defect(
                any_of("pairs", lambda pair: ~present(_sound_pair(pair, answered))), "a pair row that fits no two replicas which answered"
            ),
            _defect(
                F.size("pairs")
                != F.size(F.array_distinct(F.transform("pairs", lambda pair: F.struct(pair["broker_a"], pair["broker_b"])))),
                "two rows for one pair",
            ),
            _defect(
                any_of("proofs", lambda proof: ~present(_sound_proof(proof, answered))), "a proof row with missing or impossible values"
            ),
            _defect(F.size("histories") > 1, "more than one history row"),
            _defect(any_of("histories", lambda row: ~present(_sound_history(row))), "a history row with missing or impossible values"),
            _defect(F.size("healthy_rows") > 1, "more than one healthy row"),
            _defect(any_of("healthy_rows", lambda row: ~present(_sound_healthy(row))), "a healthy row with missing or impossible values"),
        )
    )


def _defect(condition: Column, text: str) -> Column:
    return F.when(present(condition), F.lit(text))


def _sound_state(state: Column) -> Column:
    needed = ("leader", "leader_epoch", "replicas", "isr", "eligible_leader_replicas", "last_known_elr", "reassigning", "named")
    replicas = state["replicas"]
    return present(
        all_of(
            state["topic_id"].rlike(TOPIC_ID),
            *(state[name].isNotNull() for name in needed),
            F.size(replicas) > 0,
            F.size(replicas) == F.size(F.array_distinct(replicas)),
            ~any_of(replicas, lambda broker: F.coalesce(broker, F.lit(-1)) < 0),
            F.coalesce(state["min_insync_replicas"], F.lit(1)).between(1, F.size(replicas)),
        )
    )


def _unsound_log(row: Column) -> Column:
    """Empty logs have last_written_epoch -1; a measurement that is not there is null and no defect."""
    end = row["log_end_offset"]
    sound = all_of(
        row["broker_id"] >= 0,
        row["broker_state"].isin(*BROKER_STATES),
        F.coalesce(end, F.lit(0)) >= 0,
        F.coalesce(row["log_start_offset"], F.lit(0)).between(0, F.coalesce(end, row["log_start_offset"], F.lit(0))),
        F.coalesce(row["high_watermark"], F.lit(0)).between(0, F.coalesce(end, row["high_watermark"], F.lit(0))),
        F.coalesce(row["last_written_epoch"], F.lit(-1)) >= -1,
    )
    return ~present(sound)


def _log(broker: Column) -> Column:
    return first(F.filter("replica_rows", lambda row: row["broker_id"] == broker))


def _sound_pair(pair: Column, answered: Column) -> Column:
    one, other, common = pair["broker_a"], pair["broker_b"], pair["common_offset"]
    shorter, longer = _log(pair["shorter"]), _log(F.when(pair["shorter"] == one, other).otherwise(one))
    ends = (_log(one)["log_end_offset"], _log(other)["log_end_offset"])
    return all_of(
        one < other,
        F.array_contains(answered, one),
        F.array_contains(answered, other),
        F.when(pair["relation"] == "unknown", F.lit(True))
        .when(pair["relation"] == "forked", common.between(F.lit(0), F.least(*ends)))
        .when(pair["relation"] == "same", (ends[0] == ends[1]) & (common == ends[0]))
        .when(
            pair["relation"] == "prefix",
            pair["shorter"].isin(one, other)
            & (shorter["log_end_offset"] <= longer["log_end_offset"])
            & (common == shorter["log_end_offset"]),
        ),
    )


def _sound_proof(proof: Column, answered: Column) -> Column:
    held_by = proof["broker_id"]
    return (
        proof["source"].isNotNull()
        & (proof["offset"] > 0)
        & F.array_contains(answered, held_by)
        & (~present(proof["held"]) | (proof["offset"] <= _log(held_by)["log_end_offset"]))
    )


def _sound_history(row: Column) -> Column:
    """Changes in the order of the log, each with all that it says."""
    changes = row["changes"]
    needed = ("leader", "leader_epoch", "isr", "eligible_leader_replicas", "unclean", "reassigned")

    def whole(change: Column) -> Column:
        return all_of(change["offset"] >= 0, *(change[name].isNotNull() for name in needed))

    offsets = F.transform(changes, lambda change: change["offset"])
    brokers = F.flatten(F.transform(changes, lambda change: change["isr"]))
    return all_of(
        ~any_of(changes, lambda change: ~present(whole(change))),
        ~any_of(brokers, lambda broker: F.coalesce(broker, F.lit(-1)) < 0),
        offsets == F.array_sort(offsets),
        F.coalesce(row["min_insync_replicas"], F.lit(1)) >= 1,
    )


def _sound_healthy(row: Column) -> Column:
    return all_of(
        row["observed_at"] > 0,
        row["topic_id"].rlike(TOPIC_ID),
        row["leader_epoch"] >= 0,
        row["isr"].isNotNull(),
        row["high_watermark"].between(F.lit(0), row["log_end_offset"]),
        F.coalesce(row["append_rate"], F.lit(0.0)) >= 0,
    )
