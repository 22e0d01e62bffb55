# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One call of librdkafka in a process of its own, which an answer can end: `python librdkafka_process.py SERVER CALL`."""

from __future__ import annotations

import logging
import resource
import sys
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, Producer
from confluent_kafka.admin import AdminClient

SECONDS, SHORT = 10.0, 0.5
SILENT = logging.getLogger("librdkafka_process")
SILENT.propagate = False
SILENT.addHandler(logging.NullHandler())


def main(server: str, call: str) -> None:
    """Print the error of the call, or None. The exit code is 0 if librdkafka has survived the answer."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print(CALLS[call]({"bootstrap.servers": server}), flush=True)


def offsets(options: dict[str, Any]) -> object:
    """Read the committed offsets of a group."""
    client = AdminClient(options, logger=SILENT)  # it gives up its calls when it is collected
    return _offsets(client, SECONDS).exception()


def offsets_not_in_time(options: dict[str, Any]) -> object:
    """Read the committed offsets of a group, and after its time-out, when a line of input comes, the list of groups."""
    client = AdminClient(options, logger=SILENT)
    print(_offsets(client, SHORT).exception(), flush=True)
    sys.stdin.readline()
    return client.list_consumer_groups(request_timeout=SECONDS).exception()


def describe(options: dict[str, Any]) -> object:
    """Describe a group."""
    client = AdminClient(options, logger=SILENT)
    return client.describe_consumer_groups(["group"], request_timeout=SECONDS)["group"].exception()


def topics(options: dict[str, Any]) -> object:
    """List topics: every client needs Metadata."""
    try:
        AdminClient(options, logger=SILENT).list_topics(timeout=SECONDS)
    except KafkaException as error:
        return error
    return None


def canary(options: dict[str, Any]) -> object:
    """Write a record. Return how many were not written."""
    producer = Producer({**options, "message.timeout.ms": 1000}, logger=SILENT)
    producer.produce("canaries", value=b"canary", partition=0)
    return producer.flush(SECONDS)


def _offsets(client: AdminClient, seconds: float) -> Future[Any]:
    return client.list_consumer_group_offsets([ConsumerGroupTopicPartitions("group")], request_timeout=seconds)["group"]


CALLS: dict[str, Callable[[dict[str, Any]], object]] = {
    call.__name__: call for call in (offsets, offsets_not_in_time, describe, topics, canary)
}

if __name__ == "__main__":
    main(*sys.argv[1:])
