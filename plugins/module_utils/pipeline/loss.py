# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loss: between which bounds the number of committed records lies that are gone when a partition gets its leader (docs/loss.md).

What is counted are offsets; there are at most as many records, and `gaps` says why there may be fewer.
"""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import Column
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.columns import (
    any_of,
    filled,
    first,
    let,
    listed,
    plural,
    present,
)

NONE, UNKNOWN = "none", "unknown"
HEALTHY_SNAPSHOT = "healthy_snapshot"
# What an upper bound can rest on, best first.
ISR_HISTORY, ELR, ISR, ALL_REPLICAS = "isr_history", "elr", "isr", "all_replicas"
COMPACTION, TRANSACTION_MARKERS = "compaction", "transaction_markers"

LOWER_WORDS = {
    "high_watermark": "a survivor's high watermark",
    "consumer_group": "the committed offset of a consumer group",
    HEALTHY_SNAPSHOT: "the high watermark of the last healthy snapshot",
}
UPPER_WORDS = {
    ISR_HISTORY: "the ISR history",
    ELR: "the log of an eligible leader replica",
    ISR: "the log of a member of the ISR",
    ALL_REPLICAS: "the logs of all replicas",
}
NOTHING_WORDS = {
    ISR_HISTORY: "the ISR history shows that its log holds every committed record",
    ELR: "its log holds all that an eligible leader replica holds",
    ISR: "its log holds all that a member of the ISR holds",
    ALL_REPLICAS: "every replica answered, and none holds more",
}
# No estimate is worth more digits, and a sum of offsets must not overflow.
_MOST_APPENDED = 1e15


def bounds() -> Column:
    """The plan's `loss` object about the winner of a row of gold.

    `lower_bound` and `lower_bound_from`: so many committed offsets are proven to be lost, and the proof (null and "none" without any).
    `upper_bound` and `upper_bound_from`: at most so many, and what that rests on (null and "unknown" where nothing bounds it).
    `estimate` and `estimate_from`: a guess between them, from the rate of the last healthy snapshot (null and "none" without one).
    `gaps`: why there may be fewer records than offsets.
    """

    def loss(lower: Column, upper: Column) -> Column:
        believed = F.when(upper["lost"] >= F.coalesce(lower["lost"], F.lit(0)), upper)
        return let(
            F.struct(lower.alias("lower"), believed.alias("upper"), _estimate(lower["lost"], believed["lost"]).alias("estimate")), _object
        )

    return let(_proven(), lambda lower: let(_held_elsewhere(), lambda upper: loss(lower, upper)))


def _object(found: Column) -> Column:
    lower, upper, estimate = found["lower"], found["upper"], found["estimate"]
    # In the order of the alphabet, in which the digest of a plan is made.
    return F.struct(
        estimate.alias("estimate"),
        F.when(estimate.isNull(), NONE).otherwise(HEALTHY_SNAPSHOT).alias("estimate_from"),
        _gaps().alias("gaps"),
        lower["lost"].alias("lower_bound"),
        F.coalesce(lower["source"], F.lit(NONE)).alias("lower_bound_from"),
        upper["lost"].alias("upper_bound"),
        F.coalesce(upper["source"], F.lit(UNKNOWN)).alias("upper_bound_from"),
    )


def _proven() -> Column:
    """(lost, offset, source): the greatest loss that anything proves, null where nothing speaks of committed offsets."""
    winner, healthy = F.col("winner"), F.col("healthy")

    def bound(lost: Column, offset: Column, source: Column) -> Column:
        return F.struct(F.greatest(lost, F.lit(0)).alias("lost"), offset.alias("offset"), source.alias("source"))

    def shared(point: Column) -> Column:
        relation = first(F.filter(winner["relations"], lambda row: row["other"] == point["holder"]))
        return F.when(point["holder"] == winner["broker_id"], point["offset"]).otherwise(
            F.coalesce(relation["common_offset"], winner["log_end_offset"])
        )

    held = F.transform("points", lambda point: bound(point["offset"] - shared(point), point["offset"], point["source"]))
    # A committed offset beyond the winner's log is lost even where no survivor holds it.
    committed = F.transform("proofs", lambda proof: bound(proof["offset"] - winner["log_end_offset"], proof["offset"], proof["source"]))
    seen = bound(healthy["high_watermark"] - winner["log_end_offset"], healthy["high_watermark"], F.lit(HEALTHY_SNAPSHOT))
    return F.when(winner.isNotNull(), F.array_max(F.concat(held, committed, F.filter(F.array(seen), lambda _: _is_of_this_life(healthy)))))


def _is_of_this_life(healthy: Column) -> Column:
    """Whether a healthy snapshot is of this topic, not of an older one of its name, and not of a time after the evidence."""
    return present((healthy["topic_id"] == F.col("topic_id")) & (healthy["leader_epoch"] <= F.col("leader_epoch")))


def _held_elsewhere() -> Column:
    """(lost, preference, source): what the winner lacks of a log that holds every committed record, null where no such log is known.

    Logs of that kind: the holders of the ISR history, and members of the ELR and the ISR (KIP-966). Where every replica answered, the last
    leader's log is one of them; whichever it is, the winner lacks no more than the longest of the others' tails.
    """
    winner = F.col("winner")
    own = F.struct(winner["broker_id"].alias("broker_id"), F.lit(0).cast("bigint").alias("lost"))
    others = F.transform(
        winner["relations"],
        lambda row: F.struct(row["other"].alias("broker_id"), (row["log_end_offset"] - row["common_offset"]).alias("lost")),
    )
    answered = (F.size("lost") == 0) & (F.size("unanswered") == 0)

    def preference(broker: Column) -> Column:
        lists = ("holders", "eligible_leader_replicas", "isr")
        return F.coalesce(*(F.when(F.array_contains(name, broker), F.lit(place)) for place, name in enumerate(lists)))

    def tightest(tails: Column) -> Column:
        complete = F.filter(
            F.transform(tails, lambda tail: F.struct(tail["lost"].alias("lost"), preference(tail["broker_id"]).alias("preference"))),
            lambda bound: bound["lost"].isNotNull() & bound["preference"].isNotNull(),
        )
        greatest = F.struct(F.array_max(F.transform(tails, lambda tail: tail["lost"])).alias("lost"), F.lit(3).alias("preference"))
        compared = answered & ~any_of(tails, lambda tail: tail["lost"].isNull())
        return F.array_min(F.concat(complete, F.filter(F.array(greatest), lambda _: compared)))

    sources = F.array(*map(F.lit, (ISR_HISTORY, ELR, ISR, ALL_REPLICAS)))
    # Where proof of commitment and the ISR history name different branches, neither bounds anything.
    return F.when(
        winner.isNotNull() & ~present(F.col("contradicted")),
        let(
            let(F.concat(F.array(own), others), tightest),
            lambda best: F.struct(best["lost"].alias("lost"), F.get(sources, best["preference"]).alias("source")),
        ),
    )


def _until() -> Column:
    """When the partition lost its leader, or when the evidence was gathered, in milliseconds."""
    return F.coalesce(F.col("history")["offline_since"], F.col("collected_at"))


def _age() -> Column:
    """Milliseconds from the last healthy snapshot until then; null where a clock went backwards."""
    observed = F.col("healthy")["observed_at"]
    return F.when((observed <= F.col("collected_at")) & (observed <= _until()), F.try_subtract(_until(), observed))


def _estimate(lower: Column, upper: Column) -> Column:
    healthy = F.col("healthy")
    appended = healthy["append_rate"] * _age() / 1000
    appended = F.when(appended.isNotNull(), F.least(appended, F.lit(_MOST_APPENDED)).cast("bigint"))
    guess = F.try_add(healthy["log_end_offset"] - F.col("winner")["log_end_offset"], appended)
    within = F.least(F.greatest(guess, F.coalesce(lower, F.lit(0))), upper)
    return F.when(_is_of_this_life(healthy) & guess.isNotNull(), within)


def _gaps() -> Column:
    policy = F.coalesce("cleanup_policy", F.lit("compact"))  # not known: assumed
    transactional = any_of("survivors", lambda log: log["last_batch_transactional"])
    return F.array_compact(F.array(F.when(policy.contains("compact"), COMPACTION), F.when(transactional, TRANSACTION_MARKERS)))


def told() -> Column:
    """The bounds in words, from the column `loss`; null where there is nobody to elect."""
    loss = F.col("loss")
    least, most = F.coalesce(loss["lower_bound"], F.lit(0)), loss["upper_bound"]
    counted = F.when(F.size(loss["gaps"]) > 0, F.lit("committed offset")).otherwise(F.lit("committed record"))
    one_or_more = F.concat(counted, plural(F.coalesce(F.nullif(most, F.lit(0)), least), " is lost", "s are lost"))
    by_least, by_most = _words(LOWER_WORDS, loss["lower_bound_from"]), _words(UPPER_WORDS, loss["upper_bound_from"])
    text = (
        F.when(
            most == 0,
            filled(
                "nothing that was committed is lost: %s (unless a crash before had cost a log the end that was not yet flushed)",
                _words(NOTHING_WORDS, loss["upper_bound_from"]),
            ),
        )
        .when(most == least, filled("%d %s (by %s)", most, one_or_more, by_most))
        .when(most.isNotNull() & (least > 0), filled("between %d (by %s) and %d (by %s) %s", least, by_least, most, by_most, one_or_more))
        .when(most.isNotNull(), filled("at most %d %s (by %s)", most, one_or_more, by_most))
        .when(least > 0, filled("at least %d %s (by %s)", least, one_or_more, by_least))
        .otherwise(F.lit("committed records may be lost"))
    )
    guess = F.when(present(most == least), F.lit("")).otherwise(_guess())
    unknown = F.when(most.isNull(), filled(", how many at most is not known: %s", _why_unknown())).otherwise(F.lit(""))
    fewer = F.when(
        (F.size(loss["gaps"]) > 0) & (F.coalesce(most, F.lit(1)) > 0),
        filled(" (there are fewer records than offsets where there is %s)", F.translate(F.array_join(loss["gaps"], " or "), "_", " ")),
    ).otherwise(F.lit(""))
    return F.when(F.col("winner").isNotNull(), F.concat(text, guess, unknown, fewer))


def _words(words: dict[str, str], source: Column) -> Column:
    return F.coalesce(*(F.when(source == name, F.lit(text)) for name, text in words.items()), F.lit("no proof"))


def _guess() -> Column:
    """The estimate in words, or why there is none."""
    healthy, estimate = F.col("healthy"), F.col("loss")["estimate"]
    return (
        F.when(
            estimate.isNotNull(),
            filled(", about %d by the rate of the last healthy snapshot (%d s before)", estimate, F.floor(_age() / 1000)),
        )
        .when(healthy.isNull(), F.lit(", not estimated (no healthy snapshot has it)"))
        .when(
            ~_is_of_this_life(healthy),
            F.lit(", not estimated (the last healthy snapshot is of another topic of this name, or of a later time)"),
        )
        .when(healthy["append_rate"].isNull(), F.lit(", not estimated (the last healthy snapshot has no rate)"))
        .otherwise(F.lit(", not estimated (the last healthy snapshot is younger than the evidence: a clock went backwards)"))
    )


def _why_unknown() -> Column:
    gap = F.col("history_gap")
    absent = F.concat(F.transform("lost", lambda row: row["broker_id"]), F.transform("unanswered", lambda row: row["broker_id"]))
    contradiction = F.lit("what is proven to be committed contradicts the rest of the evidence")
    # A log that holds every committed record bounds the loss, unless more is proven to be lost.
    compared = F.filter(F.col("winner")["relations"], lambda row: row["common_offset"].isNotNull())
    known = F.concat(F.array(F.col("winner")["broker_id"]), F.transform(compared, lambda row: row["other"]))
    bounded = present(F.arrays_overlap(known, F.concat("holders", "eligible_leader_replicas", "isr")))
    return (
        F.when(present(F.col("contradicted")) | bounded, contradiction)
        .when(gap.isNotNull() & (F.size("tails") > 0), F.lit("the ISR history gives no bound"))  # the gap was told already
        .when(gap.isNotNull(), F.concat(F.lit("the ISR history gives no bound, "), gap))
        .when(
            F.col("history").isNull() & (F.size(absent) > 0),
            filled(
                "what %s%s alone held cannot be told without the ISR history", plural(F.size(absent), "broker ", "brokers "), listed(absent)
            ),
        )
        .when(any_of(F.col("winner")["relations"], lambda row: row["relation"] == UNKNOWN), F.lit("not all logs could be compared"))
        .otherwise(contradiction)
    )
