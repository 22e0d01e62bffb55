# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which elections would truncate another replica: in doubt all. What real brokers hold is compared in tests/integration/test_leader_election.py."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pytest
from fake_controller import Controller

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedBatch, LogEnd
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import REMOTE_LOG_METADATA
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.unsaved_truncation import SAVE_OR_GIVE_UP, reasons_to_hold
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfig, TopicConfigs

KEY = ("t", 0)


def lost(controller: Controller, leader: int) -> str | None:
    """Return what the election of this broker would destroy, as the reason to hold it says it."""
    why = reasons_to_hold(controller, {KEY: leader}, 0.5).get(KEY)
    if why is None:
        return None
    assert why.code == ReasonCode.TAIL_NOT_SAVED and why.sentence.endswith(SAVE_OR_GIVE_UP)
    return why.sentence.removeprefix("its election would destroy records that are not saved: ").removesuffix(f"; {SAVE_OR_GIVE_UP}")


def test_a_log_that_goes_on_behind_the_leaders_is_truncated_and_a_shorter_one_is_not() -> None:
    """Broker 2 has offsets 0 to 120, broker 3 the first 100 of them. Broker 1 is lost, and its disk keeps what it has."""
    assert lost(Controller(), 3) == "broker 2 alone holds offsets 100 to 120"
    assert lost(Controller(), 2) is None
    assert reasons_to_hold(Controller(), {("t", 2): 1}, 0.5) == {}, "it has a leader"


def test_a_log_that_was_not_compared_may_be_truncated() -> None:
    class Unreadable(Controller):
        def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
            found = super().log_ends(work)
            return {broker: {key: end._replace(broker_epoch=31) for key, end in ends.items()} for broker, ends in found.items()}

        def batches(
            self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
        ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
            return {
                broker: {key: FetchedBatch("TOPIC_AUTHORIZATION_FAILED", -1, -1, None) for key in offsets}
                for broker, offsets in work.items()
            }

    assert lost(Unreadable(), 2) == "broker 3 holds offsets up to 99, and its log was not compared with that of broker 2"


@pytest.mark.parametrize("silent", [2, 3])
def test_a_replica_on_a_live_broker_that_does_not_answer_is_a_doubt(silent: int) -> None:
    class Silent(Controller):
        def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
            return {broker: ends if broker != silent else {} for broker, ends in super().log_ends(work).items()}

    assert f"broker {silent} does not answer for its replica" in (lost(Silent(), 2) or "")


def test_a_replica_that_is_coming_back_is_a_doubt() -> None:
    class Returning(Controller):
        def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
            return [row | {"broker_state": "coming_back"} if row["broker_id"] == 1 else row for row in super().broker_states(mentioned)]

    assert "broker 1 is coming back" in (lost(Returning(), 2) or "")


@pytest.mark.parametrize(("tiered", "reason"), [(True, ReasonCode.TIERED_STORAGE), (False, None), (None, None)])
def test_a_tiered_topic_is_held_also_if_no_survivor_has_more(tiered: bool | None, reason: ReasonCode | None) -> None:
    """Broker 2 has the longest log. Remote storage may have what only the lost leader had."""

    class Tiered(Controller):
        def topic_configs(self, topics: Collection[str]) -> TopicConfigs:
            return TopicConfigs({topic: TopicConfig(remote_storage_enable=tiered) for topic in topics})

    why = reasons_to_hold(Tiered(), {KEY: 2}, 0.5).get(KEY)
    assert (why and why.code) == reason
    if why is not None:
        assert "remote storage may have committed records that broker 2 lacks" in why.sentence and "hold_unsaved=false" in why.sentence
    first = reasons_to_hold(Tiered(), {KEY: 3}, 0.5)[KEY]
    assert first.code == ReasonCode.TAIL_NOT_SAVED and "broker 2 alone holds offsets 100 to 120" in first.sentence, (
        "what a survivor has comes first"
    )
    # kafka_designated_election would elect it without a proof.
    assert ("remote storage may have" in first.sentence) == bool(tiered) == ("kafka_designated_election" not in first.sentence)


def test_the_topic_that_says_what_remote_storage_has_is_held_whatever_its_configs_are() -> None:
    key = (REMOTE_LOG_METADATA, 0)

    class Accounts(Controller):
        def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
            return {key: replace(super().partitions()[KEY], topic=REMOTE_LOG_METADATA)}

    assert reasons_to_hold(Accounts(), {key: 2}, 0.5)[key].code == ReasonCode.TIERED_STORAGE
