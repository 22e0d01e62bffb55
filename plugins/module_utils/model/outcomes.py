# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcomes of a partition, the same in every module, file and report. Pure."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of one partition, worst first. The words are part of results files and history tables."""

    FAILED = "failed"
    STALE = "stale"
    HELD = "held"
    CLEAN_LEADER = "clean_leader"
    ELECTED = "elected"
    ALREADY_ONLINE = "already_online"


# As reports show them.
LABELS = {
    Outcome.FAILED: "failed",
    Outcome.STALE: "stale, the cluster had moved on",
    Outcome.HELD: "held",
    Outcome.CLEAN_LEADER: "came back clean",
    Outcome.ELECTED: "elected",
    Outcome.ALREADY_ONLINE: "online already",
}
GIVEN_A_LEADER = (Outcome.ELECTED, Outcome.CLEAN_LEADER)  # by this recovery, or by the controller meanwhile
ONLINE = (*GIVEN_A_LEADER, Outcome.ALREADY_ONLINE)  # the partition has a live leader
WITHOUT_LEADER = (Outcome.FAILED, Outcome.STALE, Outcome.HELD)
DESIGNATED_BY_HAND = "named"  # a value of the field `evidence`, in results, too
