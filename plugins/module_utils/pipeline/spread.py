# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of several identical logs leads: leadership is spread evenly over the brokers of a cluster, then the assignment order decides.

Only partitions with a choice are spread; where one log is the best, who leads is settled. Partitions with the same choices (in
the same order) are one group; there are few groups, however many partitions. All partitions of a group start on their first
choice. While that is uneven, each group in turn, again and again, is spread anew over its choices as evenly as the load of all
other groups allows, which never makes the cluster more uneven. Integers only, so that the same snapshot gives the same leaders anywhere.
"""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import Column, DataFrame, Window
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.columns import first, let, quotient

# Enough for chains of brokers that share few partitions (in 2 of 1,000 adverse small cases one too many remains). Sweeping ends as
# soon as the cluster is as even as numbers allow; the second limit is for large clusters where that cannot be reached.
SWEEPS = 40
VISITS = 20_000


def leaders(decisions: DataFrame) -> DataFrame:
    """Add `designated` to decisions: the broker to elect, one of `choices`; null where nobody is elected."""
    quotas = _quotas(decisions)
    seat = F.row_number().over(Window.partitionBy("cluster", "choices").orderBy("topic", "partition")) - 1
    return (
        decisions.withColumn("seat", seat.cast("bigint"))
        .join(quotas, ["cluster", "choices"], "left")
        .withColumn("designated", F.when(F.col("quota").isNull(), first("choices")).otherwise(_seated()))
        .drop("seat", "quota", "partitions")
    )


def _quotas(decisions: DataFrame) -> DataFrame:
    """One row (cluster, choices, partitions, quota) per group that has a choice: `quota` says for each of `choices` how many of its partitions it leads."""
    groups = decisions.where("size(choices) > 1").groupBy("cluster", "choices").agg(F.count("*").alias("partitions"))
    clusters = (
        groups.groupBy("cluster")
        .agg(F.sort_array(F.collect_list(F.struct("choices", "partitions"))).alias("groups"), F.sum("partitions").alias("elected"))
        .withColumn("brokers", F.array_sort(F.array_distinct(F.flatten(F.transform("groups", lambda group: group["choices"])))))
    )
    spread = clusters.withColumn("quotas", F.aggregate(_visits(), _start(), _spread_anew, lambda state: state["quotas"]))
    rows = spread.select("cluster", F.inline(F.arrays_zip("groups", "quotas")))
    return rows.select("cluster", "groups.choices", "groups.partitions", F.col("quotas").alias("quota"))


def _visits() -> Column:
    """(sweep, group) for every sweep over the groups, forwards and backwards in turn."""
    all_groups = F.sequence(F.lit(0), F.size("groups") - 1)
    return F.flatten(
        F.transform(
            F.sequence(F.lit(1), F.least(F.lit(SWEEPS), F.greatest(F.lit(2), quotient(F.lit(VISITS), F.size("groups")).cast("int")))),
            lambda sweep: F.transform(
                F.when(sweep % 2 == 1, all_groups).otherwise(F.reverse(all_groups)),
                lambda index: F.struct(sweep.alias("sweep"), index.alias("index")),
            ),
        )
    )


def _start() -> Column:
    """Everybody on the first choice: (quotas per group and choice, loads per broker)."""
    quotas = F.transform(
        "groups",
        lambda group: F.transform(
            group["choices"], lambda _, place: F.when(place == 0, group["partitions"]).otherwise(F.lit(0).cast("bigint"))
        ),
    )
    loads = F.transform(
        "brokers",
        lambda broker: F.aggregate(
            "groups",
            F.lit(0).cast("bigint"),
            lambda total, group: total + F.when(first(group["choices"]) == broker, group["partitions"]).otherwise(F.lit(0)),
        ),
    )
    return F.struct(quotas.alias("quotas"), loads.alias("loads"))


def _spread_anew(state: Column, visit: Column) -> Column:
    """Spread one group over its choices as evenly as the loads without it allow, unless the cluster is even already."""
    group, quota = F.get("groups", visit["index"]), F.get(state["quotas"], visit["index"])
    uneven = F.array_max(state["loads"]) * F.size("brokers") >= F.col("elected") + F.size("brokers")
    choices = F.transform(
        group["choices"],
        lambda broker, place: F.struct(
            (F.get(state["loads"], F.array_position("brokers", broker).cast("int") - 1) - F.get(quota, place)).alias("base"),
            _tie(broker, visit["sweep"]).alias("tie"),
            broker.alias("broker"),
        ),
    )

    def replaced(choices: Column) -> Column:
        return let(
            _filled(choices, group["partitions"]),
            lambda filled: F.struct(
                F.concat(
                    F.slice(state["quotas"], F.lit(1), visit["index"]),
                    F.array(filled),
                    F.slice(state["quotas"], visit["index"] + 2, F.size("groups")),
                ).alias("quotas"),
                F.transform(
                    "brokers",
                    lambda broker, place: let(
                        F.array_position(group["choices"], broker).cast("int"),
                        lambda found: F.when(found > 0, F.get(choices, found - 1)["base"] + F.get(filled, found - 1)).otherwise(
                            F.get(state["loads"], place)
                        ),
                    ),
                ).alias("loads"),
            ),
        )

    return F.when(uneven, let(choices, replaced)).otherwise(state)


def _tie(broker: Column, sweep: Column) -> Column:
    """Who gets one more than others where it does not come out even: the smallest. It differs from sweep to sweep, so that a surplus
    wanders until it meets a broker that has room: once up and once down the broker ids with the order of the groups, then anyhow."""
    return F.when(sweep % 4 == 1, -broker).when(sweep % 4 == 2, broker).otherwise(F.hash(broker, sweep))


def _filled(choices: Column, partitions: Column) -> Column:
    """How many of `partitions` each choice gets when they are poured in like water: the emptiest are filled to one level."""

    def sum_of_bases(part: Column) -> Column:
        return F.aggregate(part, F.lit(0).cast("bigint"), lambda total, choice: total + choice["base"])

    def below(limit: Column) -> Column:
        return F.filter(choices, lambda choice: choice["base"] <= limit)

    # A choice is under water where raising all emptier ones to its base takes no more than there is.
    wet = F.filter(
        choices,
        lambda choice: let(below(choice["base"]), lambda part: F.size(part) * choice["base"] - sum_of_bases(part) <= partitions),
    )

    def poured(wet: Column) -> Column:
        return let(
            sum_of_bases(wet) + partitions,
            lambda volume: F.transform(
                choices,
                lambda choice: F.when(
                    F.exists(wet, lambda other: other["broker"] == choice["broker"]),
                    quotient(volume, F.size(wet))
                    - choice["base"]
                    + F.when(F.size(F.filter(wet, lambda other: _before(other, choice))) < volume % F.size(wet), F.lit(1)).otherwise(
                        F.lit(0)
                    ),
                ).otherwise(F.lit(0).cast("bigint")),
            ),
        )

    return let(wet, poured)


def _before(one: Column, other: Column) -> Column:
    return (one["tie"] < other["tie"]) | ((one["tie"] == other["tie"]) & (one["broker"] < other["broker"]))


def _seated() -> Column:
    """The choice that leads the partition in this seat of its group. Seats of a broker lie evenly between the others', not in a row:
    otherwise one topic's partitions would have one leader."""

    def offer(state: Column, offered: Column) -> Column:
        seat, left, quota = state["seat"], F.greatest(state["left"], F.lit(1)), offered["quota"]
        passed = quotient(seat * quota, left)
        taken = state["designated"].isNull() & (quotient((seat + 1) * quota, left) > passed)
        return F.struct(
            F.when(taken, offered["choices"]).otherwise(state["designated"]).alias("designated"),
            (seat - passed).alias("seat"),
            (state["left"] - quota).alias("left"),
        )

    start = F.struct(F.lit(None).cast("int").alias("designated"), F.col("seat"), F.col("partitions").alias("left"))
    return F.aggregate(F.arrays_zip("choices", "quota"), start, offer, lambda state: state["designated"])
