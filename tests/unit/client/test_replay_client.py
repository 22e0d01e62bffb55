# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a replay says if brokers refuse a record: which setting of the topic stands against it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from confluent_kafka import KafkaError

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import replay_client
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.replay_client import ReplayProducer, Written
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError


def refused(code: int, monkeypatch: pytest.MonkeyPatch) -> tuple[str, list[str]]:
    """The error of a transaction with a record that a broker refuses with this code, and what was done with the transaction."""
    done: list[str] = []

    class Refusing:
        def __init__(self, _config: object) -> None:
            self._delivered: Any = None

        def produce(self, _topic: str, _value: object, _key: object, _partition: int, delivered: Any, **_options: object) -> None:
            self._delivered = delivered

        def poll(self, _seconds: float) -> None:
            self._delivered(KafkaError(code), None)

        def flush(self, _seconds: float) -> int:
            return 0

        def __getattr__(self, name: str) -> Any:
            return lambda *_seconds: done.append(name)

    monkeypatch.setattr(replay_client, "Producer", Refusing)
    with pytest.raises(ClusterError) as error:
        ReplayProducer(Connection(("127.0.0.1:1",)), "id").write("t", 0, [Written(None, b"value", 1, [])])
    return str(error.value), done


@pytest.mark.parametrize(
    ("code", "setting"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, "max.message.bytes"),
        (KafkaError.INVALID_TIMESTAMP, "message.timestamp.after.max.ms"),
        (KafkaError.INVALID_RECORD, "message.timestamp.before.max.ms"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, None),
    ],
)
def test_a_record_that_is_refused_is_not_committed_and_the_setting_is_named(
    code: int, setting: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    message, done = refused(code, monkeypatch)
    assert KafkaError(code).str() in message and done == ["begin_transaction", "abort_transaction"]
    assert setting in message if setting else ";" not in message


@pytest.mark.parametrize(
    ("left", "ends_with"),
    [([40, 20, 1, 0], "commit_transaction"), ([40, 20, 20], "abort_transaction"), ([60], "abort_transaction")],
)
def test_a_transaction_goes_on_while_the_broker_takes_records(left: list[int], ends_with: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    answers = iter(left)

    class Slow:
        def __init__(self, _config: object) -> None:
            pass

        def flush(self, _seconds: float) -> int:
            return next(answers)

        def __getattr__(self, name: str) -> Any:
            return lambda *_arguments, **_options: done.append(name)

    monkeypatch.setattr(replay_client, "Producer", Slow)
    records = [Written(None, b"value", 1, [])] * 60
    with nullcontext() if ends_with == "commit_transaction" else pytest.raises(ClusterError, match="timed out"):
        ReplayProducer(Connection(("127.0.0.1:1",)), "id").write("t", 0, records)
    assert done[-1] == ends_with and next(answers, None) is None
