# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcomes of a partition."""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import LABELS, WITHOUT_LEADER, Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.recovery_queries import OUTCOME_LABELS, PLANNED, SHOWN_FIRST


def test_every_outcome_has_a_label() -> None:
    assert set(LABELS) == set(Outcome)
    assert set(OUTCOME_LABELS) == set(SHOWN_FIRST)


def test_outcomes_are_worst_first_and_reports_show_them_so() -> None:
    assert tuple(Outcome)[: len(WITHOUT_LEADER)] == WITHOUT_LEADER
    assert [outcome for outcome in SHOWN_FIRST if outcome != PLANNED] == list(Outcome)
