# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Error codes have Kafka's names, and are retried as Kafka's clients retry them."""

from __future__ import annotations

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import error_codes


def test_error_codes_have_the_names_that_kafka_gives_them() -> None:
    names = {code: error_codes.error_name(code) for code in (-1, 0, 3, 6, 10, 17, 31, 39, 56, 83, 84, 136)}
    assert names == {
        -1: "UNKNOWN_SERVER_ERROR",
        0: None,
        3: "UNKNOWN_TOPIC_OR_PARTITION",
        6: "NOT_LEADER_OR_FOLLOWER",
        10: "MESSAGE_TOO_LARGE",
        17: "INVALID_TOPIC_EXCEPTION",
        31: "CLUSTER_AUTHORIZATION_FAILED",
        39: "INVALID_REPLICA_ASSIGNMENT",
        56: "KAFKA_STORAGE_ERROR",
        83: "ELIGIBLE_LEADERS_NOT_AVAILABLE",
        84: "ELECTION_NOT_NEEDED",
        136: "UNKNOWN_136",
    }


@pytest.mark.parametrize(
    ("error", "retriable"),
    [
        ("NOT_CONTROLLER", True),
        ("REQUEST_TIMED_OUT", True),
        ("NOT_LEADER_OR_FOLLOWER", True),
        ("KAFKA_STORAGE_ERROR", True),
        ("CLUSTER_AUTHORIZATION_FAILED", False),
        ("UNSUPPORTED_VERSION", False),
        ("UNKNOWN_SERVER_ERROR", False),
        ("UNKNOWN_137", False),
        ("", False),
    ],
)
def test_errors_are_tried_again_as_kafkas_clients_do(error: str, retriable: bool) -> None:
    assert error_codes.is_retriable(error) == retriable
