# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gold: the rules of decision. One row per partition all the way through."""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.columns import any_of, first, let, present

STRATEGIES = ("none", "balanced", "aggressive")
RANKINGS = ("last_written_epoch", "kip1275")
ELECT, HELD, ONLINE = "elect", "held", "online"
# What each strategy elects on. Nobody elects without a survivor; `none` elects nothing.
ACCEPTED = {
    "none": (),
    "balanced": ("prefix", "forked_resolved"),
    "aggressive": ("prefix", "forked_resolved", "forked_proven", "forked", "incomplete", "weak", "contradicted", "below_high_watermark"),
}
TRANSACTION_STATE = "__transaction_state"
# Evidence that committed records are going to be lost, or that Kafka did not do what the rules stand on.
ALARMING = ("contradicted", "below_high_watermark")
CLUSTER_METADATA = "__cluster_metadata"


def candidates(partitions: DataFrame, ranking: str) -> DataFrame:
    """Add `points`, `proven_offset`, `ranked` and `winner` to the partitions of silver (with what `history.histories` adds).

    `points`: (holder, offset, source, name): below `offset` the holder's log is known to be committed.
    `ranked`: the survivors best-first, each with `proven`: how far it holds what is known to be committed, and `resolved`: whether it holds
    all that one of the history's `holders` holds. `winner`: the first.

    Rank is (proven, resolved, last_written_epoch, log_end_offset). Where every survivor's log is a prefix of one, that one is also the
    plain maximum of (last_written_epoch, log_end_offset), because it holds whatever another proves; where logs fork, proof of
    commitment is worth more than a later epoch. `kip1275` ranks by (partition_leader_epoch, log_end_offset) alone, as
    that KIP does. Ties go to the original assignment order.
    """
    proven = partitions.withColumn("points", _points()).withColumn(
        "proven_offset", F.array_max(F.transform("points", lambda point: point["offset"]))
    )
    with_proof = F.transform(
        "survivors",
        lambda log: log.withField(
            "proven", F.coalesce(F.array_max(F.transform("points", lambda point: _held_of(log, point))), F.lit(0)).cast("bigint")
        ).withField("resolved", any_of("holders", lambda holder: _follows(log, holder))),
    )
    keys = {
        "last_written_epoch": lambda log: (
            -log["proven"],
            ~log["resolved"],
            -F.coalesce(log["last_written_epoch"], F.lit(-2)),
            -log["log_end_offset"],
        ),
        "kip1275": lambda log: (-F.coalesce(log["partition_leader_epoch"], F.lit(-1)), -log["log_end_offset"]),
    }[ranking]
    order = F.sort_array(F.transform("survivors", lambda log: F.struct(*keys(log), log["position"], log.alias("log"))))
    return (
        proven.withColumn("survivors", with_proof)
        .withColumn("ranked", F.transform(order, lambda row: row["log"]))
        .withColumn("winner", first("ranked"))
    )


def _follows(log: Column, holder: Column) -> Column:
    """Whether `log` is, equals or continues the log of the broker `holder`."""
    relation = first(F.filter(log["relations"], lambda row: row["other"] == holder))
    return (log["broker_id"] == holder) | present(
        (relation["relation"] == "same") | ((relation["relation"] == "prefix") & (relation["shorter"] == holder))
    )


def _points() -> Column:
    """High watermarks and committed offsets that a survivor is known to hold. A high watermark of 0 proves nothing."""
    watermarks = F.transform(
        F.filter("survivors", lambda log: log["high_watermark"] > 0),
        lambda log: F.struct(
            log["broker_id"].alias("holder"),
            log["high_watermark"].alias("offset"),
            F.lit("high_watermark").alias("source"),
            F.lit("").alias("name"),
        ),
    )
    committed = F.transform(
        F.filter("proofs", lambda proof: present(proof["held"])),
        lambda proof: F.struct(
            proof["broker_id"].alias("holder"),
            proof["offset"].alias("offset"),
            proof["source"].alias("source"),
            F.coalesce(proof["name"], F.lit("")).alias("name"),
        ),
    )
    return F.when(F.size("survivors") > 0, F.concat(watermarks, committed)).otherwise(F.slice(watermarks, 1, 0))


def _held_of(log: Column, point: Column) -> Column:
    """How much of the records that `point` proves committed this log holds. What could not be compared counts as nothing held."""
    relation = first(F.filter(log["relations"], lambda row: row["other"] == point["holder"]))
    return F.when(point["holder"] == log["broker_id"], point["offset"]).otherwise(
        F.least(point["offset"], F.coalesce(relation["common_offset"], F.lit(0)))
    )


def evidence(candidates: DataFrame) -> DataFrame:
    """Add the findings about the winner and the one word for them, `evidence`.

    Arrays: `tails` (relations to survivors that hold records which the winner lacks), `beyond` (relations to survivors whose
    high watermark lies above what the winner shares with them), `uncompared` (relations that are unknown), `unwritten` (survivors
    whose last-written epoch could not be read), `identical` (brokers whose log equals the winner's, with it, in assignment order).
    """
    winner = F.col("winner")
    relations = winner["relations"]
    found = candidates.withColumns(
        {
            "tails": F.filter(
                relations,
                lambda row: (
                    (row["relation"] == "forked") | present((row["relation"] == "prefix") & (row["shorter"] == winner["broker_id"]))
                ),
            ),
            "beyond": F.filter(relations, lambda row: row["high_watermark"] > F.coalesce(row["common_offset"], winner["log_end_offset"])),
            "uncompared": F.filter(relations, lambda row: row["relation"] == "unknown"),
            "unwritten": F.transform(F.filter("survivors", lambda log: log["last_written_epoch"].isNull()), lambda log: log["broker_id"]),
            "identical": F.transform(
                F.filter(
                    "survivors",
                    lambda log: (
                        (log["broker_id"] == winner["broker_id"])
                        | any_of(relations, lambda row: (row["other"] == log["broker_id"]) & (row["relation"] == "same"))
                    ),
                ),
                lambda log: log["broker_id"],
            ),
        }
    )
    return found.withColumns({"singled_out": _singled_out(), "resolved": _resolved(), "contradicted": _contradicted()}).withColumn(
        "evidence",
        F.when(F.size("defects") > 0, F.lit("incomplete"))
        .when(winner.isNull(), F.lit("no_survivor"))
        .when(F.size("beyond") > 0, F.lit("below_high_watermark"))
        .when(F.size("unwritten") > 0, F.lit("weak"))
        .when((F.size("unanswered") > 0) | (F.size("uncompared") > 0) | _somebody_returns(), F.lit("incomplete"))
        .when(F.size("tails") == 0, F.lit("prefix"))
        .when(F.col("contradicted"), F.lit("contradicted"))
        .when(F.col("resolved"), F.lit("forked_resolved"))
        .when(F.col("singled_out"), F.lit("forked_proven"))
        .otherwise(F.lit("forked")),
    )


def _somebody_returns() -> Column:
    """Whether a replica's broker is coming back: what it holds cannot be read yet, and it may be more than any survivor holds."""
    return any_of("lost", lambda row: row["broker_state"] == "coming_back")


def _holds_all_points(log: Column) -> Column:
    return ~any_of("points", lambda point: _held_of(log, point) < point["offset"])


def _resolved() -> Column:
    """Whether the ISR history says that the winner holds every committed record, and no proof of commitment says otherwise."""
    return present(F.col("winner")["resolved"] & _holds_all_points(F.col("winner")))


def _contradicted() -> Column:
    """Whether every log that holds all committed records, as the ISR history says, lacks some that are proven committed."""
    return any_of("survivors", lambda log: log["resolved"]) & ~any_of("survivors", lambda log: log["resolved"] & _holds_all_points(log))


def _singled_out() -> Column:
    """Whether proof of commitment leaves one branch of a fork: the winner holds the greatest proven offset, so do at most logs
    that are prefixes of the winner's (or equal to it), a log that forked from it does not, and nothing is proven that the winner lacks."""
    winner, greatest = F.col("winner"), F.coalesce(F.col("proven_offset"), F.lit(0))

    def relation_to(log: Column) -> Column:
        return first(F.filter(winner["relations"], lambda row: row["other"] == log["broker_id"]))

    def follows(log: Column) -> Column:
        relation = relation_to(log)
        return (relation["relation"] == "same") | ((relation["relation"] == "prefix") & (relation["shorter"] == log["broker_id"]))

    others = F.filter("survivors", lambda log: log["broker_id"] != winner["broker_id"])
    left_out = any_of(others, lambda log: (log["proven"] < greatest) & (relation_to(log)["relation"] == "forked"))
    rival = any_of(others, lambda log: (log["proven"] >= greatest) & ~present(follows(log)))
    return present((greatest > 0) & (winner["proven"] >= greatest) & left_out & ~rival & _holds_all_points(winner))


def decisions(evidence: DataFrame, strategy: str) -> DataFrame:
    """Add `waiting_for`, `best_first`, `outcome` (elect, held, online), `reason` (of what is held, else null) and `choices`.

    `waiting_for`: (broker_id, broker_state) of clean leaders that are alive or coming back. `best_first`: all replicas of
    the assignment in the order in which they should lead. `choices`: brokers any of which may be designated, null where nobody is.
    """
    ordered = evidence.withColumns({"waiting_for": _waiting_for(), "best_first": _best_first(F.col("winner")["broker_id"])})
    decided = ordered.withColumn("reason", F.when(F.col("leader") >= 0, F.lit(None)).otherwise(_reason(strategy))).withColumn(
        "outcome",
        F.when(F.coalesce("leader", F.lit(-1)) >= 0, F.lit(ONLINE)).when(F.col("reason").isNull(), F.lit(ELECT)).otherwise(F.lit(HELD)),
    )
    # A partition under reassignment is planned only as its order stands: so nobody but the winner itself may be chosen.
    choices = F.when(F.col("reassigning"), F.array(F.col("winner")["broker_id"])).otherwise(F.col("identical"))
    return decided.withColumn("choices", F.when(F.col("outcome") == ELECT, choices))


def _reason(strategy: str) -> Column:
    """Why the partition is held, null where nothing holds it. The first that applies, from what no strategy overrides downwards."""
    topic, found = F.col("topic"), F.col("evidence")
    waits = F.lit(strategy != "aggressive") & (F.size("waiting_for") > 0)
    must_be_named = ((topic == TRANSACTION_STATE) | found.isin(*ALARMING)) & ~present(F.col("named"))
    return (
        F.when(topic == CLUSTER_METADATA, F.lit("cluster_metadata"))
        .when(F.lit(strategy == "none"), F.lit("strategy_none"))
        .when(present(waits), F.lit("wait_for_clean_leader"))
        .when(F.size("defects") > 0, F.lit("incomplete"))
        .when(~found.isin(*ACCEPTED[strategy]), found)
        .when(must_be_named, F.lit("must_be_named"))
        .when(present(F.col("reassigning")) & ~_stands_best_first(), F.lit("reassignment_in_progress"))
    )


def _waiting_for() -> Column:
    """Whom the controller may elect by itself, because the broker is there or comes back: as `decision.controller.waited_for`."""
    alive = F.concat(
        F.transform("survivors", lambda log: log["broker_id"]),
        F.transform("unanswered", lambda row: row["broker_id"]),
    )

    def of(clean: Column) -> Column:
        back = F.filter("lost", lambda row: (row["broker_state"] == "coming_back") & present(F.array_contains(clean, row["broker_id"])))
        return F.concat(
            F.transform(back, lambda row: F.struct(row["broker_id"].alias("broker_id"), row["broker_state"].alias("broker_state"))),
            F.transform(
                F.filter(alive, lambda broker: present(F.array_contains(clean, broker))),
                lambda broker: F.struct(broker.alias("broker_id"), F.lit("unfenced").alias("broker_state")),
            ),
        )

    coming = F.transform(F.filter("lost", lambda row: row["broker_state"] == "coming_back"), lambda row: row["broker_id"])

    def clean(present_brokers: Column) -> Column:
        def if_none_is_gone(before: Column, members: Column) -> Column:
            return F.when(F.size(F.array_except(before, present_brokers)) == 0, members).otherwise(F.array().cast("array<int>"))

        elr = F.col("eligible_leader_replicas")
        known = F.when(F.size("last_known_elr") == 1, F.col("last_known_elr")).otherwise(F.array().cast("array<int>"))
        return F.concat("isr", if_none_is_gone(F.col("isr"), elr), if_none_is_gone(F.concat("isr", elr), known))

    return let(let(F.concat(alive, coming), clean), of)


def _best_first(designated: Column) -> Column:
    """The designated broker, the other survivors best-first, then the rest of the assignment as it stands."""
    ranked = F.transform("ranked", lambda log: log["broker_id"])
    return F.array_distinct(
        F.concat(F.when(designated.isNull(), F.array().cast("array<int>")).otherwise(F.array(designated)), ranked, F.col("replicas"))
    )


def _stands_best_first() -> Column:
    """Whether the controller, which takes the first live replica, would choose best-first from the order that stands.

    A broker that is coming back counts as live: it may be unfenced before the election.
    """
    dead = F.transform(F.filter("lost", lambda row: row["broker_state"] == "fenced"), lambda row: row["broker_id"])
    return F.array_except("replicas", dead) == F.array_except("best_first", dead)
