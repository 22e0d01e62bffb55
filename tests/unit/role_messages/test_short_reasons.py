# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each reason for which a partition can have no leader has a short sentence and a remedy."""

from __future__ import annotations

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.next_steps import STEPS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import WITHOUT_LEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.short_reasons import LONGEST, short_reason

# Steps of outcomes, and of what a dry run would elect.
NO_CODES = {*WITHOUT_LEADER, "planned"}


@pytest.mark.parametrize("outcome", WITHOUT_LEADER)
@pytest.mark.parametrize("code", ReasonCode)
def test_reasons_and_remedies_are_short(outcome: str, code: str) -> None:
    assert all(0 < len(text) <= LONGEST for text in short_reason(outcome, code))


@pytest.mark.parametrize("code", [code for code in STEPS if code not in NO_CODES])
def test_a_reason_that_has_a_step_has_a_sentence_of_its_own(code: str) -> None:
    assert short_reason("held", code) != short_reason("held", "no such code")


def test_an_outcome_speaks_for_its_other_reasons() -> None:
    assert short_reason("stale", "log_changed")[0] == "the cluster has changed since the evidence was collected"
    assert short_reason("failed", "kafka_error")[0] == "the election failed"
