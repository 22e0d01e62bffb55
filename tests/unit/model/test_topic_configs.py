# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Topic configs: what is not reported is not known, and a caller that does not need it continues."""

from __future__ import annotations

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import (
    NAMES,
    TopicConfig,
    TopicConfigs,
    merge,
    parse,
)

DENIED = "TOPIC_AUTHORIZATION_FAILED"


@pytest.mark.parametrize(
    ("values", "config"),
    [
        (
            {"min.insync.replicas": "2", "unclean.leader.election.enable": "false", "cleanup.policy": "compact"},
            TopicConfig(2, False, "compact"),
        ),
        ({"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}, TopicConfig(1, True)),
        ({"min.insync.replicas": None, "unclean.leader.election.enable": None}, TopicConfig(None, None)),
        ({"min.insync.replicas": "two", "unclean.leader.election.enable": "maybe"}, TopicConfig(None, None)),
        ({}, TopicConfig(None, None)),
        ({"cleanup.policy": "compact, delete"}, TopicConfig(cleanup_policy="compact, delete")),
        ({"cleanup.policy": ""}, TopicConfig(cleanup_policy="")),  # Kafka 4.2: neither
        ({"cleanup.policy": "shred"}, TopicConfig()),
        ({"remote.storage.enable": "true"}, TopicConfig(remote_storage_enable=True)),
        ({"remote.storage.enable": "false"}, TopicConfig(remote_storage_enable=False)),
        ({"remote.storage.enable": " False "}, TopicConfig(remote_storage_enable=False)),
        ({"remote.storage.enable": "TRUE"}, TopicConfig(remote_storage_enable=True)),
        ({"remote.storage.enable": "enabled"}, TopicConfig(remote_storage_enable=True)),
        ({"remote.storage.enable": ""}, TopicConfig(remote_storage_enable=True)),
        ({"remote.storage.enable": None}, TopicConfig()),
        ({"cleanup.policy": "compact," * 4000 + "delete"}, TopicConfig()),
        ({"cleanup.policy": "x" * 32_000}, TopicConfig()),
    ],
)
def test_values_are_read_or_not_known(values: dict[str, str | None], config: TopicConfig) -> None:
    assert parse(values) == config


def test_a_refusal_is_reported_and_a_deleted_topic_is_not_one() -> None:
    configs = merge(
        [TopicConfigs({"a": TopicConfig(2, False)}, {"b": "UNKNOWN_TOPIC_OR_PARTITION"}), TopicConfigs({}, {"d": DENIED, "c": DENIED})],
        {"a", "b", "c", "d"},
    )
    assert configs.of("a") == TopicConfig(2, False)
    assert configs.of("b") == configs.of("c") == TopicConfig(None, None)
    assert "topic configs cannot be described (c: TOPIC_AUTHORIZATION_FAILED, and 1 more)" in (configs.problem() or "")
    assert all(name in (configs.problem() or "") for name in NAMES), "what is not known"
    with pytest.raises(RecoveryError, match="grant DESCRIBE_CONFIGS on the topics"):
        configs.require_complete()


def test_without_a_refusal_there_is_no_report() -> None:
    configs = merge([TopicConfigs({"a": TopicConfig(2, False)}, {"b": "UNKNOWN_TOPIC_OR_PARTITION"})], ["a", "b"])
    assert configs.problem() is None
    assert configs.require_complete() is configs


def test_topics_that_a_broker_adds_are_not_kept() -> None:
    answer = TopicConfigs({"a": TopicConfig(2, False), "other": TopicConfig(1)}, {"another": DENIED})
    assert merge([answer], ["a"]) == TopicConfigs({"a": TopicConfig(2, False)})
