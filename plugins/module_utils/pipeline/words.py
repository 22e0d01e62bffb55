# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The decision in words for a tired operator. Every finding is told, not only the one that decided.

Lengths are told as offsets: a range of offsets holds at most that many records (compaction and transaction markers leave gaps).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import Column
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leadership import ELIGIBLE, LAST_IN_SYNC, LAST_KNOWN_LEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline import loss
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.columns import filled, first, listed, plural, present
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import instant

REASONS = {
    "cluster_metadata": "held: the metadata log elects its own leader, this tool never touches it",
    "strategy_none": "held: strategy none elects nothing",
    "wait_for_clean_leader": "held: wait, the controller then elects it by itself (strategy aggressive would not wait)",
    "no_survivor": "held: no replica is on a live broker that answers; bring one of its brokers back",
    "must_be_named": "held: it is elected only where partitions or partitions_file names it",
    "reassignment_in_progress": "held: a reassignment is under way and a new replica order would replace it; let it complete or cancel it",
    "forked": "held: strategy aggressive would give those offsets up",
    "forked_proven": "held: strategy aggressive would elect the proven branch and give the other up",
    "contradicted": "held: believe neither before you know why; strategy aggressive would elect it where partitions or partitions_file names it",
    "incomplete": "held: gather the evidence again once everything answers",
    "weak": "held: strategy aggressive would go by length",
    "below_high_watermark": "held: strategy aggressive would elect it where partitions or partitions_file names it",
}


def explanation(leader: Column) -> Column:
    """One text about a partition of gold; `leader` is the broker that it designates (or would), null where there is none."""
    told = (
        _defects(),
        _best(leader),
        _identical(),
        _prefixes(),
        _tails(),
        _history(),
        _proof(),
        _beyond(),
        *_gaps(),
        _end(),
        _lost(),
        loss.told(),
        _own_choice(),
        _waiting(),
        _unclean(),
        _writable(),
        _held(),
    )
    return F.concat_ws("; ", *told)


def _told(condition: Column, template: str, *values: Column) -> Column:
    """The filled template where `condition` holds, else null, which leaves it out."""
    return F.when(present(condition), filled(template, *values))


def _each(array: Column | str, text: Callable[[Column], Column], between: str = " and ") -> Column:
    """The texts of all elements in one, null for an empty array."""
    return F.nullif(F.array_join(F.transform(array, text), between), F.lit(""))


def _defects() -> Column:
    return _told(F.size("defects") > 0, "the snapshot cannot be trusted for this partition (%s)", F.array_join("defects", ", "))


def _best(leader: Column) -> Column:
    place = plural(F.size("survivors"), "is the only survivor", "holds the best log")

    def told(log: Column) -> Column:
        epoch = log["last_written_epoch"]
        written = (
            F.when(epoch >= 0, filled(", last written in leader epoch %d", epoch))
            .when(epoch < 0, F.lit(" and is empty"))
            .otherwise(F.lit(", in a leader epoch that could not be read"))
        )
        return filled("broker %d %s: it ends at offset %d%s", log["broker_id"], place, log["log_end_offset"], written)

    return first(F.transform(F.filter("survivors", lambda row: row["broker_id"] == leader), told))


def _identical() -> Column:
    return _told(
        F.size("identical") > 1, "the logs of brokers %s are identical, leadership is shared out among them", listed(F.col("identical"))
    )


def _prefixes() -> Column:
    shorter = F.filter(F.col("winner")["relations"], lambda row: (row["relation"] == "prefix") & (row["shorter"] == row["other"]))
    logs = _each(shorter, lambda row: filled("broker %d's log (to offset %d)", row["other"], row["common_offset"]))
    return F.concat(logs, plural(F.size(shorter), " is a prefix of it", " are prefixes of it"))


def _tails() -> Column:
    return _each(
        "tails",
        lambda row: filled(
            "broker %d's log parts from it at offset %d, so electing it truncates broker %d's offsets %d to %d",
            row["other"],
            row["common_offset"],
            row["other"],
            row["common_offset"],
            row["log_end_offset"] - 1,
        ),
    )


def _proof() -> Column:
    """Whose proof singles the winner's branch out."""
    greatest = F.array_sort(
        F.array_distinct(
            F.transform(
                F.filter("points", lambda point: point["offset"] == F.col("proven_offset")),
                lambda point: F.when(
                    point["source"] == "high_watermark", filled("the high watermark of broker %d", point["holder"])
                ).otherwise(filled("the committed offset of %s %s", F.translate(point["source"], "_", " "), point["name"])),
            )
        )
    )
    return F.when(
        F.col("singled_out"),
        filled(
            "everything below offset %d on its branch is proven committed by %s, and the other branch lacks some of it",
            F.col("proven_offset"),
            F.array_join(greatest, " and "),
        ),
    )


def _history() -> Column:
    """What the ISR history says where logs fork."""
    holders, forked = _brokers("holders"), F.size("tails") > 0
    resolved = filled(
        "the ISR history resolves it: since %s left the ISR it has always been smaller than min.insync.replicas (%d), so nothing was committed any "
        "more, and every committed record is on this branch",
        holders,
        F.col("history")["min_insync_replicas"],
    )
    contradicted = filled(
        "the ISR history says that %s would hold every committed record, but what is proven committed is not there", holders
    )
    return (
        F.when(F.col("evidence") == "forked_resolved", resolved)
        .when(forked & F.col("contradicted"), contradicted)
        .when(forked & F.col("history_gap").isNotNull(), F.concat(F.lit("the ISR history does not resolve it: "), F.col("history_gap")))
    )


def _end() -> Column:
    """Since when it is offline, and who was in the ISR last."""
    past = F.col("history")
    offline = _told(
        past["offline_since"].isNotNull(),
        "it has had no leader since %s, when the ISR was [%s]",
        instant(past["offline_since"]),
        listed(past["last_isr"]),
    )
    left = F.when(
        F.size("survivors") > 1,
        filled(
            "%s left the ISR last of the survivors, at %s", _brokers_of(F.transform("left_last", lambda row: row["broker_id"])), _left_at()
        ),
    )
    return F.nullif(F.concat_ws(", ", offline, F.when(_left_at().isNotNull(), left)), F.lit(""))


def _left_at() -> Column:
    return instant(first("left_last")["timestamp"])


def _beyond() -> Column:
    return _each(
        "beyond",
        lambda row: filled(
            "broker %d's high watermark %d says that committed records would be lost, since only offsets below %d are known to be shared",
            row["other"],
            row["high_watermark"],
            F.coalesce(row["common_offset"], F.lit(0)),
        ),
    )


def _gaps() -> tuple[Column, ...]:
    """What could not be found out."""
    return (
        _told(
            F.size("unwritten") > 0,
            "the last-written epoch of %s could not be read, so only lengths can be compared",
            _brokers("unwritten"),
        ),
        _each(
            "unanswered",
            lambda row: filled("broker %d is alive but did not answer for its replica (%s)", row["broker_id"], row["error"]),
        ),
        _each(
            "uncompared",
            lambda row: filled(
                "whether broker %d's log (to offset %d) fits it is not known (%s)",
                row["other"],
                row["log_end_offset"],
                F.coalesce(row["reason"], F.lit("no reason given")),
            ),
        ),
    )


def _brokers(column: str) -> Column:
    return _brokers_of(F.col(column))


def _brokers_of(ids: Column) -> Column:
    return F.concat(plural(F.size(ids), "broker ", "brokers "), listed(ids))


def _lost() -> Column:
    """Whole seconds: nobody decides by fractions, and texts must not depend on how a float is printed."""
    return _each(
        "lost",
        lambda row: (
            F.when(row["broker_state"] == "coming_back", filled("broker %d is coming back", row["broker_id"]))
            .when(
                row["silent_seconds"].isNotNull(),
                filled("broker %d has been silent for %d s", row["broker_id"], F.floor(row["silent_seconds"])),
            )
            .otherwise(filled("broker %d is fenced, since when is not known", row["broker_id"]))
        ),
        ", ",
    )


def _own_choice() -> Column:
    """Whom the controller would elect by itself, of the brokers that nobody hears of."""
    gone = F.filter("lost", lambda row: (row["broker_state"] == "fenced") & present(_standing(row["broker_id"]).isNotNull()))
    return _each(
        gone,
        lambda row: filled(
            "should broker %d come back before an election, the controller elects it by itself (%s)",
            row["broker_id"],
            _standing(row["broker_id"]),
        ),
        ", ",
    )


def _standing(broker: Column) -> Column:
    """What makes a broker the controller's own choice (KIP-966), in a word or two; null for others."""
    return (
        F.when(F.array_contains("eligible_leader_replicas", broker), F.lit("ELR"))
        .when(F.array_contains("isr", broker), F.concat(F.lit("last in the ISR"), _without_elr()))
        .when(F.array_contains("last_known_elr", broker), F.lit("last known leader, its shutdown was unclean"))
    )


def _without_elr() -> Column:
    off = F.col("eligible_leader_replicas_version") == 0
    return F.when(present(off), F.lit(", eligible leader replicas are off")).otherwise(F.lit(""))


def _waiting() -> Column:
    return _each(
        "waiting_for",
        lambda row: filled(
            "broker %d is %s%s",
            row["broker_id"],
            F.when(row["broker_state"] == "unfenced", F.lit("alive and ")).otherwise(F.lit("")),
            F.when(F.array_contains("eligible_leader_replicas", row["broker_id"]), F.lit(ELIGIBLE))
            .when(F.array_contains("isr", row["broker_id"]), F.concat(F.lit(LAST_IN_SYNC), _without_elr()))
            .otherwise(F.lit(LAST_KNOWN_LEADER)),
        ),
        ", ",
    )


def _unclean() -> Column:
    return _told(
        F.col("unclean_leader_election_enable"),
        "unclean.leader.election.enable is true: the controller elects any live replica by itself, without a look at its log, and may be faster",
    )


def _writable() -> Column:
    """What the partition can do once it has a leader: with fewer live replicas than min.insync.replicas no more than be read."""
    live, wanted = F.size("survivors") + F.size("unanswered"), F.col("min_insync_replicas")
    return _told(
        (F.size("survivors") > 0) & (live < wanted),
        "once elected it is online but not writable with acks=all: %d live %s, min ISR %d, until %d more %s back",
        live,
        plural(live, "replica", "replicas"),
        wanted,
        wanted - live,
        plural(wanted - live, "is", "are"),
    )


def _held() -> Column:
    return F.coalesce(*(F.when(F.col("reason") == reason, F.lit(text)) for reason, text in REASONS.items()))
