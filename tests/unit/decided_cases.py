# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hand-made partitions whose decision is known."""

from __future__ import annotations

from typing import Any

from partition_situations import COMING_BACK, FENCED, UNREADABLE, Log, Situation, history

# kafka-facts: acknowledged records of epoch 1 on broker 2, never-committed ones of epoch 0 on broker 3, which has the longer log.
OLD_TAIL = Log.of((180, 0), high_watermark=90)
ACKNOWLEDGED = Log.of((100, 0), (21, 1), high_watermark=90)
# Raft's "Figure 8": the older epoch is the committed one.
FIGURE_8_COMMITTED, FIGURE_8_LATER = Log.of((15, 0)), Log.of((10, 0), (3, 1), high_watermark=10)
# What both histories of the docs have in common: broker 3 led and died, 2 and 1 went on, 1 left, 2 died.
ONE_LEFT_LAST: tuple[dict[str, Any], ...] = (
    {"leader": 3, "isr": [1, 2, 3]}, {"isr": [2, 3]}, {"leader": 2, "isr": [2]}, {"isr": [1, 2]}, {"isr": [2]}, {"leader": -1, "isr": []},
)  # fmt: skip
SHORT, LONG = Log.of((100, 0), high_watermark=80), Log.of((120, 0), high_watermark=80)
# A topic with tiered storage (KIP-405).
TIERED: dict[str, Any] = {"remote_storage_enable": True}
# Broker 1 leads last. Brokers 2 and 3 left the ISR together, with min.insync.replicas 2.
BOTH_LEFT: tuple[dict[str, Any], ...] = ({"leader": 1, "isr": [1, 2, 3]}, {"isr": [1]}, {"leader": -1, "isr": []})

CASES = [
    Situation("identical", {1: FENCED, 2: LONG, 3: LONG}),
    Situation("prefix", {1: FENCED, 2: SHORT, 3: LONG}),
    Situation("alone", {1: FENCED, 2: SHORT}),
    Situation("forked", {1: FENCED, 2: ACKNOWLEDGED, 3: OLD_TAIL}),
    Situation("figure-8-proven", {2: FENCED, 1: FIGURE_8_COMMITTED, 3: FIGURE_8_LATER}, proofs=[(15, 1, True), (15, 3, False)]),
    Situation("figure-8", {2: FENCED, 1: FIGURE_8_COMMITTED, 3: FIGURE_8_LATER}),
    Situation("proven-on-both-branches", {2: FENCED, 1: FIGURE_8_COMMITTED, 3: FIGURE_8_LATER}, proofs=[(15, 1, True), (13, 3, True)]),
    Situation("proven-by-watermark", {1: FENCED, 2: Log.of((150, 0), high_watermark=130), 3: ACKNOWLEDGED}),
    # An unclean election long ago: both branches have a high watermark above the fork.
    Situation("below", {1: FENCED, 2: Log.of((100, 0), high_watermark=100), 3: Log.of((50, 0), (70, 1), high_watermark=120)}),
    Situation(
        "below-named",
        {1: FENCED, 2: Log.of((100, 0), high_watermark=100), 3: Log.of((50, 0), (70, 1), high_watermark=120)},
        state={"named": True},
    ),
    Situation("resolved", {2: FENCED, 1: FIGURE_8_COMMITTED, 3: FIGURE_8_LATER}, history=history(*ONE_LEFT_LAST)),
    Situation("resolved-not", {2: FENCED, 1: FIGURE_8_COMMITTED, 3: FIGURE_8_LATER}, history=history(*ONE_LEFT_LAST, min_isr=1)),
    Situation(
        "resolved-clean",
        {2: FENCED, 1: FIGURE_8_COMMITTED, 3: FIGURE_8_LATER},
        state={"last_known_elr": [3]},
        history=history(*ONE_LEFT_LAST),
    ),
    Situation("resolved-fork", {2: FENCED, 1: ACKNOWLEDGED, 3: OLD_TAIL}, history=history(*ONE_LEFT_LAST)),
    # The last to leave holds a prefix of a log that goes on: that one, and not the branch with the later epoch.
    Situation(
        "resolved-prefix",
        {2: FENCED, 1: Log.of((12, 0)), 3: FIGURE_8_LATER, 4: FIGURE_8_COMMITTED},
        history=history({"leader": 3, "isr": [1, 2, 3, 4]}, {"isr": [1, 2, 3]}, *ONE_LEFT_LAST[1:]),
    ),
    Situation(
        "resolved-and-proven",
        {2: FENCED, 1: FIGURE_8_COMMITTED, 3: FIGURE_8_LATER},
        proofs=[(15, 1, True), (15, 3, False)],
        history=history(*ONE_LEFT_LAST),
    ),
    *(
        Situation(
            name,
            {2: FENCED, 1: FIGURE_8_COMMITTED, 3: FIGURE_8_LATER},
            state={"named": named},
            proofs=[(13, 3, True)],
            history=history(*ONE_LEFT_LAST),
        )
        for name, named in (("contradicted", False), ("contradicted-named", True))
    ),
    # What another replica may hold makes the contradiction no milder.
    *(
        Situation(
            name,
            {2: FENCED, 1: FIGURE_8_COMMITTED, 3: FIGURE_8_LATER, 4: fourth},
            proofs=[(13, 3, True)],
            history=history({"leader": 3, "isr": [1, 2, 3, 4]}, *ONE_LEFT_LAST),
        )
        for name, fourth in (("contradicted-silent", "NO_ANSWER"), ("contradicted-weak", Log.of((1, 0), (1, UNREADABLE))))
    ),
    # Not compared, so 1 may hold what is proven, and the ISR history decides.
    Situation(
        "contradicted-uncompared",
        {2: FENCED, 1: FIGURE_8_COMMITTED, 3: FIGURE_8_LATER},
        proofs=[(13, 3, True)],
        unknown={(1, 3)},
        history=history(*ONE_LEFT_LAST),
    ),
    Situation("silent", {1: FENCED, 2: SHORT, 3: "NO_ANSWER"}),
    Situation("uncompared", {1: FENCED, 2: SHORT, 3: LONG}, unknown={(2, 3)}),
    Situation("gap", {1: FENCED, 2: Log.of((40, 0), high_watermark=40), 3: Log.of((40, 0), (80, 1), high_watermark=110, start=100)}),
    Situation("gap-below", {1: FENCED, 2: Log.of((40, 2), high_watermark=40), 3: Log.of((120, 0), high_watermark=0, start=100)}),
    Situation(
        "gap-beside-silent", {1: "NO_ANSWER", 2: Log.of((40, 0), high_watermark=40), 3: Log.of((120, 1), high_watermark=110, start=100)}
    ),
    Situation("gap-beside-uncompared", {1: SHORT, 2: Log.of((40, 0)), 3: Log.of((120, 1), high_watermark=110, start=95)}, unknown={(1, 3)}),
    # The last to leave is the start of the log of 3, which is the start of that of 4, though 1 and 4 have no offset in common: 3 must not cost the tail of 4.
    Situation(
        "gap-under-history",
        {2: FENCED, 1: Log.of((12, 0)), 3: FIGURE_8_COMMITTED, 4: Log.of((15, 0), (3, 1), start=12)},
        history=history({"leader": 3, "isr": [1, 2, 3, 4]}, {"isr": [1, 2, 3]}, *ONE_LEFT_LAST[1:]),
    ),
    Situation("corrupt", {1: FENCED, 2: SHORT, 3: LONG}, corrupt={(2, 3)}),
    Situation("corrupt-named", {1: FENCED, 2: SHORT, 3: LONG}, corrupt={(2, 3)}, state={"named": True}),
    # The winner's log is none of the two, and one of them is as good as the winner's.
    Situation("corrupt-others", {1: FENCED, 2: SHORT, 3: LONG, 4: LONG}, corrupt={(2, 3)}),
    Situation("weak", {1: FENCED, 2: SHORT, 3: Log.of((119, 0), (1, UNREADABLE))}),
    Situation("nobody", {1: FENCED, 2: FENCED}),
    # Broker 1 is cut off from the controllers and answers.
    Situation("fenced-longer", {1: Log.of((150, 0), fenced=True), 2: SHORT, 3: LONG}),
    Situation("fenced-eligible", {1: Log.of((150, 0), fenced=True), 2: SHORT, 3: LONG}, state={"eligible_leader_replicas": [1]}),
    Situation("fenced-shorter", {1: Log.of((110, 0), fenced=True), 2: SHORT, 3: LONG}),
    Situation("fenced-identical", {1: Log.of((120, 0), fenced=True), 2: SHORT, 3: LONG}, state={"eligible_leader_replicas": [1]}),
    Situation("fenced-forked", {1: Log.of((110, 0), (1, 1), fenced=True), 2: SHORT, 3: LONG}),
    Situation("fenced-uncompared", {1: Log.of((110, 0), fenced=True), 2: SHORT, 3: LONG}, unknown={(1, 3)}),
    Situation("fenced-beside-silent", {1: Log.of((150, 0), fenced=True), 2: SHORT, 3: "NO_ANSWER"}),
    Situation("fenced-beside-fork", {1: Log.of((150, 0), fenced=True), 2: ACKNOWLEDGED, 3: OLD_TAIL}),
    Situation("fenced-alone", {1: Log.of((150, 0), fenced=True), 2: FENCED}),
    Situation("ahead", {1: FENCED, 2: SHORT, 3: Log.of((100, 0), (20, 8))}),
    Situation("ahead-named", {1: FENCED, 2: SHORT, 3: Log.of((100, 0), (20, 8))}, state={"named": True}),
    Situation("fenced-ahead", {1: Log.of((100, 0), (20, 8), fenced=True), 2: SHORT, 3: LONG}),
    Situation("disk-failed", {1: "DISK_FAILED", 2: SHORT, 3: LONG}, state={"isr": [1], "eligible_leader_replicas": [1]}),
    Situation("all-disks-failed", {1: "DISK_FAILED", 2: FENCED}, state={"isr": [1]}),
    Situation("isr-back", {1: COMING_BACK, 2: SHORT}, state={"isr": [1]}),
    Situation("elr-back", {1: COMING_BACK, 2: SHORT}, state={"eligible_leader_replicas": [1]}),
    Situation("last-known-elr-back", {1: COMING_BACK, 2: SHORT}, state={"last_known_elr": [1]}),
    Situation("last-known-behind-elr", {1: FENCED, 2: SHORT, 3: LONG}, state={"eligible_leader_replicas": [1], "last_known_elr": [2]}),
    Situation("last-known-after-elr", {1: COMING_BACK, 2: SHORT}, state={"eligible_leader_replicas": [1], "last_known_elr": [2]}),
    Situation("clean-and-alive", {1: FENCED, 2: SHORT}, state={"isr": [2]}),
    Situation("other-back", {1: COMING_BACK, 2: SHORT}, state={"isr": []}),
    Situation("clean-but-silent", {1: FENCED, 2: SHORT}, state={"isr": [1]}),
    Situation("reassigning", {1: FENCED, 2: SHORT, 3: LONG}, state={"reassigning": True}),
    Situation("reassigning-best-first", {1: FENCED, 3: LONG, 2: SHORT}, state={"reassigning": True}),
    Situation("reassigning-identical", {3: LONG, 2: LONG, 1: FENCED}, state={"reassigning": True}),
    # What lost brokers copied to remote storage may be more than any survivor has.
    Situation("tiered", {1: FENCED, 2: SHORT, 3: LONG}, state=TIERED),
    Situation("tiered-alone", {1: FENCED, 2: SHORT}, state=TIERED),
    Situation("tiered-not", {1: FENCED, 2: SHORT, 3: LONG}, state={"remote_storage_enable": False}),
    Situation("tiered-fork", {1: FENCED, 2: ACKNOWLEDGED, 3: OLD_TAIL}, state=TIERED),
    Situation("tiered-named", {1: FENCED, 2: SHORT, 3: LONG}, state={**TIERED, "named": True}),
    Situation("tiered-empty", {1: FENCED, 2: Log.of()}, state=TIERED, history=history({"leader": 1, "isr": [1, 2]}, *BOTH_LEFT[1:])),
    Situation("tiered-reassigning", {1: FENCED, 2: SHORT, 3: LONG}, state={**TIERED, "reassigning": True}),
    Situation("tiered-history", {1: FENCED, 2: SHORT, 3: LONG}, state=TIERED, history=history(*BOTH_LEFT)),
    Situation("tiered-history-not", {1: FENCED, 2: SHORT, 3: LONG}, state=TIERED, history=history(*BOTH_LEFT, min_isr=1)),
    # Broker 2 holds every committed record by the history, but its disk is a new one.
    Situation(
        "tiered-history-empty",
        {1: FENCED, 2: Log.of(), 3: LONG},
        state=TIERED,
        history=history({"leader": 1, "isr": [1, 2, 3]}, {"isr": [1, 2]}, {"isr": [1]}, {"leader": -1, "isr": []}),
    ),
    Situation("tiered-resolved", {2: FENCED, 1: FIGURE_8_COMMITTED, 3: FIGURE_8_LATER}, state=TIERED, history=history(*ONE_LEFT_LAST)),
    # The log of the last member is known, because its broker is cut off and answers, or its disk was read.
    Situation("tiered-member", {1: Log.of((120, 0), fenced=True), 2: SHORT, 3: LONG}, state={**TIERED, "eligible_leader_replicas": [1]}),
    Situation("tiered-isr-member", {1: Log.of((110, 0), fenced=True), 2: SHORT, 3: LONG}, state={**TIERED, "isr": [1]}),
    Situation("tiered-no-member", {1: Log.of((120, 0), fenced=True), 2: SHORT, 3: LONG}, state=TIERED),
    Situation("tiered-empty-member", {1: Log.of(fenced=True), 2: SHORT, 3: LONG}, state={**TIERED, "isr": [1]}),
    Situation("tiered-longer-member", {1: Log.of((150, 0), fenced=True), 2: SHORT, 3: LONG}, state={**TIERED, "isr": [1]}),
    Situation(
        "tiered-member-and-proof",
        {1: Log.of((90, 0), fenced=True), 2: Log.of((100, 0), high_watermark=None), 3: LONG},
        state={**TIERED, "isr": [1]},
        proofs=[(100, 2, True)],
    ),
    Situation("__remote_log_metadata", {1: FENCED, 2: SHORT, 3: LONG}),
    Situation("online", {1: FENCED, 2: SHORT}, state={"leader": 2}),
    Situation("empty", {1: FENCED, 2: Log.of(), 3: Log.of()}),
    Situation("__transaction_state", {1: FENCED, 2: SHORT}),
    Situation("__consumer_offsets", {1: FENCED, 2: SHORT}),
    Situation("__cluster_metadata", {1: FENCED, 2: SHORT}, state={"named": True}),
]
# What kip966_balanced holds although balanced elects: a member of ISR, ELR or last known ELR has not answered.
WAITS_FOR_ELR = (
    "last-known-behind-elr", "clean-but-silent", "disk-failed", "fenced-identical", "tiered-member", "tiered-isr-member",
    "tiered-member-and-proof",
)  # fmt: skip
# The answer of each strategy: the elected broker, or the reason for holding it.
EXPECTED: dict[str, tuple[str, int | None, int | str, int | str]] = {
    # topic: (evidence, candidate, balanced, aggressive)
    "prefix": ("prefix", 3, 3, 3),
    "alone": ("prefix", 2, 2, 2),
    "forked": ("forked", 2, "forked", 2),
    "figure-8-proven": ("forked_proven", 1, "forked_proven", 1),
    "figure-8": ("forked", 3, "forked", 3),
    "proven-on-both-branches": ("below_high_watermark", 1, "below_high_watermark", "must_be_named"),
    "proven-by-watermark": ("forked_proven", 2, "forked_proven", 2),
    "below": ("below_high_watermark", 3, "below_high_watermark", "must_be_named"),
    "below-named": ("below_high_watermark", 3, "below_high_watermark", 3),
    "resolved": ("forked_resolved", 1, 1, 1),
    "resolved-not": ("forked", 3, "forked", 3),
    "resolved-clean": ("forked", 3, "wait_for_clean_leader", 3),
    "resolved-fork": ("forked_resolved", 1, 1, 1),
    "resolved-prefix": ("forked_resolved", 4, 4, 4),
    "resolved-and-proven": ("forked_resolved", 1, 1, 1),
    "contradicted": ("contradicted", 3, "contradicted", "must_be_named"),
    "contradicted-named": ("contradicted", 3, "contradicted", 3),
    "contradicted-silent": ("contradicted", 3, "contradicted", "must_be_named"),
    "contradicted-weak": ("contradicted", 3, "contradicted", "must_be_named"),
    "contradicted-uncompared": ("incomplete", 1, "incomplete", 1),
    "silent": ("incomplete", 2, "incomplete", 2),
    "uncompared": ("incomplete", 3, "incomplete", 3),
    "gap": ("incomplete", 3, "retention_gap", 3),
    "gap-below": ("incomplete", 2, "retention_gap", 2),
    "gap-beside-silent": ("incomplete", 3, "incomplete", 3),
    "gap-beside-uncompared": ("incomplete", 3, "incomplete", 3),
    "gap-under-history": ("incomplete", 4, "retention_gap", 4),
    "corrupt": ("corrupt", 3, "corrupt", "must_be_named"),
    "corrupt-named": ("corrupt", 3, "corrupt", 3),
    "corrupt-others": ("corrupt", 3, "corrupt", "must_be_named"),
    "weak": ("weak", 2, "weak", 2),
    "ahead": ("prefix", 3, "ahead_of_controller", "ahead_of_controller"),
    "ahead-named": ("prefix", 3, "ahead_of_controller", 3),
    "fenced-ahead": ("prefix", 3, "ahead_of_controller", 3),
    "disk-failed": ("prefix", 3, 3, 3),
    "all-disks-failed": ("no_survivor", None, "no_survivor", "no_survivor"),
    "nobody": ("no_survivor", None, "no_survivor", "no_survivor"),
    "fenced-longer": ("prefix", 3, "fenced_broker_holds_more", 3),
    "fenced-eligible": ("prefix", 3, "fenced_broker_holds_more", 3),
    "fenced-shorter": ("prefix", 3, 3, 3),
    "fenced-identical": ("prefix", 3, 3, 3),
    "fenced-forked": ("prefix", 3, "fenced_broker_holds_more", 3),
    "fenced-uncompared": ("prefix", 3, "fenced_broker_holds_more", 3),
    "fenced-beside-silent": ("incomplete", 2, "fenced_broker_holds_more", 2),
    "fenced-beside-fork": ("forked", 2, "fenced_broker_holds_more", 2),
    "fenced-alone": ("no_survivor", None, "no_survivor", "no_survivor"),
    "isr-back": ("incomplete", 2, "wait_for_clean_leader", 2),
    "elr-back": ("incomplete", 2, "wait_for_clean_leader", 2),
    "last-known-elr-back": ("incomplete", 2, "wait_for_clean_leader", 2),
    "last-known-behind-elr": ("prefix", 3, 3, 3),  # the controller waits for 1, which is gone
    "last-known-after-elr": ("incomplete", 2, "wait_for_clean_leader", 2),
    "clean-and-alive": ("prefix", 2, "wait_for_clean_leader", 2),
    "other-back": ("incomplete", 2, "incomplete", 2),
    "clean-but-silent": ("prefix", 2, 2, 2),
    "reassigning": ("prefix", 3, "reassignment_in_progress", "reassignment_in_progress"),
    "reassigning-best-first": ("prefix", 3, 3, 3),
    "reassigning-identical": ("prefix", 3, 3, 3),
    "tiered": ("prefix", 3, "tiered_storage", 3),
    "tiered-alone": ("prefix", 2, "tiered_storage", 2),
    "tiered-not": ("prefix", 3, 3, 3),
    "tiered-fork": ("forked", 2, "forked", 2),
    "tiered-named": ("prefix", 3, "tiered_storage", 3),
    "tiered-empty": ("prefix", 2, "tiered_storage", 2),
    "tiered-reassigning": ("prefix", 3, "tiered_storage", "reassignment_in_progress"),
    "tiered-history": ("prefix", 3, 3, 3),
    "tiered-history-not": ("prefix", 3, "tiered_storage", 3),
    "tiered-history-empty": ("prefix", 3, "tiered_storage", 3),
    "tiered-resolved": ("forked_resolved", 1, 1, 1),
    "tiered-member": ("prefix", 3, 3, 3),
    "tiered-isr-member": ("prefix", 3, 3, 3),
    "tiered-no-member": ("prefix", 3, "tiered_storage", 3),
    "tiered-empty-member": ("prefix", 3, "tiered_storage", 3),
    "tiered-longer-member": ("prefix", 3, "fenced_broker_holds_more", 3),
    "tiered-member-and-proof": ("prefix", 3, 3, 3),
    "__remote_log_metadata": ("prefix", 3, "tiered_storage", 3),
    "__transaction_state": ("prefix", 2, "must_be_named", "must_be_named"),
    "__consumer_offsets": ("prefix", 2, 2, 2),
    "__cluster_metadata": ("prefix", 2, "cluster_metadata", "cluster_metadata"),
}
