# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loss: between which bounds the number of committed records lies that are gone when a partition gets its leader."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.columns import first


def bounds() -> Column:
    """At least so many committed offsets are lost, as far as anything proves; how many at most, nothing here can tell."""
    winner = F.col("winner")

    def bound(lost: Column, offset: Column, source: Column) -> Column:
        return F.struct(lost.alias("lost"), offset.alias("offset"), source.alias("source"))

    def shared(point: Column) -> Column:
        relation = first(F.filter(winner["relations"], lambda row: row["other"] == point["holder"]))
        return F.when(point["holder"] == winner["broker_id"], point["offset"]).otherwise(
            F.coalesce(relation["common_offset"], winner["log_end_offset"])
        )

    held = F.transform(
        "points", lambda point: bound(F.greatest(point["offset"] - shared(point), F.lit(0)), point["offset"], point["source"])
    )
    # A committed offset beyond the winner's log is lost even where no survivor holds it.
    committed = F.transform(
        "proofs", lambda proof: bound(F.greatest(proof["offset"] - winner["log_end_offset"], F.lit(0)), proof["offset"], proof["source"])
    )
    greatest = F.when(winner.isNotNull(), F.array_max(F.concat(held, committed)))
    return F.struct(
        greatest["lost"].alias("lower_bound"),
        F.coalesce(greatest["source"], F.lit("none")).alias("lower_bound_from"),
        F.lit("unknown").alias("upper_bound"),
    )


def told() -> Column:
    """The bounds in words, null where the rest of the explanation says all there is."""
    return F.lit(None).cast("string")
