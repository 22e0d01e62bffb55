# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chooses brokers for missing replicas, and the preferred leader of replica lists whose first replica was lost.

A new replica goes to the rack with the fewest replicas of its partition, and there to the broker whose disk is then least full. The largest partitions
are placed first. Then each one is placed again, given the placement of all others, because partitions without a choice may have come last. All
arithmetic is with integers, and ties are broken by broker id, so that the same layout gives the same lists everywhere.
"""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.redundancy.decisions import MOVES, rack_aware
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.columns import (
    any_of,
    bind,
    capped_sum,
    false_if_null,
    first,
    quotient,
)

# The second sweep corrects the effect of partitions without a choice. More than three change almost nothing. VISITS limits the sweeps of large
# clusters.
SWEEPS = 3
VISITS = 200_000
# Spark copies the state of a fold at each step. So partitions are processed in pieces: the square root of their number, each of at least this many
# partitions. The choice does not depend on it.
PIECE = 16
# Free bytes of a broker whose free space is not known.
UNKNOWN_CAPACITY_BYTES = 1 << 60
# The size of the largest disk. Other disks are measured in thousandths of it.
WHOLE = 1000
NO_BROKER = -1


def placements(tasks: DataFrame, clusters: DataFrame, max_disk_percent: int) -> DataFrame:
    """Return one row per cluster: `before` and `after`, arrays of (broker_id, rack, share, room, bytes, replicas, leaders) of unfenced brokers, and `moves`.

    `moves` has one struct per partition that MOVES, with its fields of `tasks`, `added` (brokers that get a replica, empty without room for all missing
    replicas) and `first_replica` (preferred leader of the new list, NO_BROKER without room). In `before`, `bytes`, `replicas` and `leaders` (preferred
    leaders) count the replicas that stay; `after` counts added replicas too. A broker gets no replica that would fill its disk by more than
    `max_disk_percent`.
    """
    loads = (
        tasks.select("cluster", F.coalesce("bytes", F.lit(0)).alias("bytes"), "replicas", F.explode("kept").alias("broker_id"))
        .groupBy("cluster", "broker_id")
        .agg(
            F.least(capped_sum("bytes"), F.lit(UNKNOWN_CAPACITY_BYTES)).alias("bytes"),
            F.count("*").alias("replicas"),
            F.sum(F.when(first("replicas") == F.col("broker_id"), F.lit(1)).otherwise(F.lit(0))).alias("leaders"),
        )
        .groupBy("cluster")
        .agg(
            F.collect_list(F.struct("broker_id", "bytes", "replicas", "leaders")).alias("loads"),
            F.greatest(F.lit(1), quotient(capped_sum("bytes"), F.sum("replicas"))).alias("mean"),
        )
    )
    moves = tasks.where(F.col("outcome") == MOVES).groupBy("cluster").agg(F.sort_array(F.collect_list(_move())).alias("moves"))
    begun = (
        clusters.join(loads, "cluster", "left")
        .join(moves, "cluster", "left")
        .withColumn("before", _before(max_disk_percent))
        .select("cluster", "before", "mean", "moves")
    )
    placed = begun.withColumn("placed", F.when(F.col("moves").isNotNull(), _place_moves()))
    return placed.select(
        "cluster",
        "before",
        F.coalesce(F.col("placed")["brokers"], F.col("before")).alias("after"),
        bind(F.flatten(F.col("placed")["choices"]), _with_choices).alias("moves"),
    )


_MOVE = ("topic", "partition", "topic_id", "replicas", "gone", "kept", "kept_racks", "missing", "bytes")


def _move() -> Column:
    """Return a partition as a struct that sorts the largest first."""
    size = F.coalesce("bytes", F.lit(0))
    return F.struct((-size).alias("rank"), *_MOVE, size.alias("size"))


def _with_choices(choices: Column) -> Column:
    """Return the moves, each with its choice."""

    def joined(move: Column, place: Column) -> Column:
        choice = F.get(choices, place)
        chosen = (choice[name].alias(name) for name in ("added", "first_replica"))
        return F.struct(*(move[name].alias(name) for name in (*_MOVE, "size")), *chosen)

    return F.transform("moves", joined)


def _before(max_disk_percent: int) -> Column:
    live = F.filter("brokers", lambda row: row["broker_state"] == UNFENCED)
    largest = F.array_max(F.transform(live, lambda row: row["total_bytes"]))
    all_sizes_known = ~any_of(live, lambda row: ~false_if_null(row["total_bytes"] > 0))

    def share(row: Column) -> Column:
        return (
            F.when(all_sizes_known, F.greatest(F.lit(1), quotient(row["total_bytes"] * WHOLE, largest)))
            .otherwise(F.lit(WHOLE))
            .cast("bigint")
        )

    def room(row: Column) -> Column:
        reserve = F.when(row["total_bytes"] > 0, quotient(row["total_bytes"], F.lit(100)) * (100 - max_disk_percent)).otherwise(F.lit(0))
        return F.when(row["usable_bytes"] >= 0, row["usable_bytes"] - reserve).otherwise(F.lit(UNKNOWN_CAPACITY_BYTES))

    def loaded(row: Column) -> Column:
        return bind(
            first(F.filter("loads", lambda load: load["broker_id"] == row["broker_id"])),
            lambda load: F.struct(
                row["broker_id"].alias("broker_id"),
                F.when(rack_aware(), row["rack"]).otherwise(F.lit("")).alias("rack"),
                share(row).alias("share"),
                room(row).alias("room"),
                *(F.coalesce(load[name], F.lit(0)).cast("bigint").alias(name) for name in ("bytes", "replicas", "leaders")),
            ),
        )

    return F.transform(live, loaded)


def _place_moves() -> Column:
    """Place all `moves`, sweep after sweep. Return the `brokers` afterwards, and `choices`, (added, first_replica) by piece and move."""

    def nothing_chosen(move: Column) -> Column:
        return F.struct(F.slice(move["kept"], 1, 0).alias("added"), F.lit(NO_BROKER).alias("first_replica"))

    def sweep_all(pieces: Column) -> Column:
        choices = F.transform(pieces, lambda piece: F.transform(piece, nothing_chosen))
        start = F.struct(F.col("before").alias("brokers"), choices.alias("choices"))
        return F.aggregate(_sweeps(), start, lambda state, _: _sweep(state, pieces))

    return bind(_pieces(), sweep_all)


def _pieces() -> Column:
    def cut(piece: Column) -> Column:
        return F.transform(
            F.sequence(F.lit(0), quotient(F.size("moves") - 1, piece).cast("int")),
            lambda index: F.slice("moves", index * piece + 1, piece),
        )

    return bind(F.greatest(F.lit(PIECE), F.sqrt(F.size("moves")).cast("int")), cut)


def _sweeps() -> Column:
    wanted = F.least(F.lit(SWEEPS), F.greatest(F.lit(1), quotient(F.lit(VISITS), F.size("moves")).cast("int")))
    return F.array_repeat(F.lit(1), wanted)


def _sweep(state: Column, pieces: Column) -> Column:
    """Place every partition again, given the placement of all others."""

    def sweep_piece(done: Column, index: Column) -> Column:
        moves = F.transform(
            F.get(pieces, index),
            lambda move, place: F.struct(move.alias("move"), F.get(F.get(state["choices"], index), place).alias("choice")),
        )
        start = F.struct(done["brokers"].alias("brokers"), F.slice(first(state["choices"]), 1, 0).alias("choices"))
        return bind(
            F.aggregate(moves, start, _place_again),
            lambda piece: F.struct(
                piece["brokers"].alias("brokers"), F.concat(done["choices"], F.array(piece["choices"])).alias("choices")
            ),
        )

    start = F.struct(state["brokers"].alias("brokers"), F.slice(state["choices"], 1, 0).alias("choices"))
    return F.aggregate(F.sequence(F.lit(0), F.size(pieces) - 1), start, sweep_piece)


def _place_again(state: Column, choice_before: Column) -> Column:
    move, before = choice_before["move"], choice_before["choice"]

    def place(brokers: Column) -> Column:
        return bind(
            _choose_brokers(brokers, move),
            lambda added: bind(
                _first_replica(brokers, move, added),
                lambda leader: F.struct(
                    _shift_loads(brokers, move, added, leader, 1).alias("brokers"),
                    F.concat(state["choices"], F.array(F.struct(added.alias("added"), leader.alias("first_replica")))).alias("choices"),
                ),
            ),
        )

    return bind(_shift_loads(state["brokers"], move, before["added"], before["first_replica"], -1), place)


def _shift_loads(brokers: Column, move: Column, added: Column, leader: Column, sign: int) -> Column:
    """Return the brokers with (sign 1) or without (-1) the replicas that are added for a partition. An unchanged preferred leader is counted already."""
    leads = F.when(leader == first(move["replicas"]), F.lit(NO_BROKER)).otherwise(leader)

    def shift(row: Column) -> Column:
        replica = F.array_contains(added, row["broker_id"]).cast("bigint") * sign
        return F.struct(
            row["broker_id"].alias("broker_id"),
            row["rack"].alias("rack"),
            row["share"].alias("share"),
            (row["room"] - replica * move["size"]).alias("room"),
            (row["bytes"] + replica * move["size"]).alias("bytes"),
            (row["replicas"] + replica).alias("replicas"),
            (row["leaders"] + (leads == row["broker_id"]).cast("bigint") * sign).alias("leaders"),
        )

    return F.transform(brokers, shift)


def _choose_brokers(brokers: Column, move: Column) -> Column:
    """Return the brokers that get the missing replicas of a partition, or an empty array without room for all of them."""
    no_brokers = F.slice(move["kept"], 1, 0)

    def pick(state: Column, _step: Column) -> Column:
        able = F.filter(
            brokers,
            lambda row: (
                ~F.array_contains(move["kept"], row["broker_id"])
                & ~F.array_contains(state["added"], row["broker_id"])
                & (row["room"] >= move["size"])
            ),
        )
        best = F.array_min(
            F.transform(
                able,
                lambda row: F.struct(
                    F.size(F.filter(state["racks"], lambda rack: rack == row["rack"])).alias("mates"),
                    _fill(row, move["size"]).alias("fill"),
                    row["broker_id"].alias("broker_id"),
                    row["rack"].alias("rack"),
                ),
            )
        )
        return bind(
            best,
            lambda one: F.when(one.isNull(), state).otherwise(
                F.struct(
                    F.concat(state["added"], F.array(one["broker_id"])).alias("added"),
                    F.concat(state["racks"], F.array(one["rack"])).alias("racks"),
                )
            ),
        )

    start = F.struct(no_brokers.alias("added"), move["kept_racks"].alias("racks"))
    return bind(
        F.aggregate(F.array_repeat(F.lit(1), move["missing"]), start, pick, lambda state: state["added"]),
        lambda added: F.when(F.size(added) == move["missing"], added).otherwise(no_brokers),
    )


def _fill(row: Column, size: Column) -> Column:
    """Return how full a disk is with one more replica of `size`, for comparison with other disks. A replica counts its bytes plus those of an average
    replica, because many partitions are empty. Files that are not Kafka's do not count here but in `room`."""
    weight = F.try_add(row["bytes"] + size, F.try_multiply(row["replicas"] + 1, F.col("mean")))
    # Brokers can report sizes that overflow. Then all disks count as equally full.
    return quotient(F.coalesce(F.try_multiply(weight, F.lit(WHOLE)), F.lit(MOST_INT64)), row["share"])


def _first_replica(brokers: Column, move: Column, added: Column) -> Column:
    """Return the preferred leader of the new list: the present one if it is kept, else the broker that is preferred leader least often, a kept replica
    before an added one."""

    def fewest(new: Column) -> Column:
        return F.array_min(
            F.transform(
                F.filter(brokers, lambda row: F.array_contains(new, row["broker_id"])),
                lambda row: F.struct(
                    row["leaders"].alias("leaders"),
                    F.array_position(new, row["broker_id"]).alias("place"),
                    row["broker_id"].alias("broker_id"),
                ),
            )
        )["broker_id"]

    before = first(move["replicas"])
    return (
        F.when(F.size(added) < move["missing"], F.lit(NO_BROKER))
        .when(F.array_contains(move["kept"], before), before)
        .otherwise(F.coalesce(bind(F.concat(move["kept"], added), fewest), F.lit(NO_BROKER)))
    )


def new_replicas() -> Column:
    """Return a column with the new replica list of a move of `placements`, the preferred leader first.

    Each added replica has the position of a lost one; further ones come last. It needs the columns `replicas`, `kept`, `added` and
    `first_replica`.
    """
    left = F.array_except("replicas", "kept")
    in_place = F.transform(
        "replicas",
        lambda broker: F.when(F.array_contains("kept", broker), broker).otherwise(
            F.get("added", F.array_position(left, broker).cast("int") - 1)
        ),
    )
    more = F.slice("added", F.size(left) + 1, F.size("added"))
    return F.array_distinct(F.concat(F.array("first_replica"), F.filter(in_place, lambda broker: broker.isNotNull()), more))
