# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which requests reached a cluster, as its own controllers logged them. Needs the rig's `request_log`."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rig import KafkaCluster

MARK = "Completed request:"
# What a client may ask, by Kafka's names. Everything else counts as writing.
READING = {
    "API_VERSIONS", "METADATA", "DESCRIBE_CLUSTER", "DESCRIBE_QUORUM", "DESCRIBE_TOPIC_PARTITIONS", "DESCRIBE_CONFIGS", "LIST_OFFSETS", "FETCH",
    "LIST_PARTITION_REASSIGNMENTS", "LIST_GROUPS", "FIND_COORDINATOR", "OFFSET_FETCH",
}  # fmt: skip
GIVE_UP_SECONDS = 60


class RequestLog:
    """What clients asked of a cluster, from the making of this object on."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster
        # A client that was killed a moment ago may have left a request on its way.
        for node in cluster.controllers:
            self._wait_for_later_requests(node)
        self._begin = {node: _size(cluster.log_file(node)) for node in cluster.controllers}

    def written(self, client_id: str | None = None) -> Counter[str]:
        """How many writing requests the controllers got from clients (None: any), by name. Brokers forward them there.

        What is only to be validated is not written.
        """
        return Counter(
            request["requestHeader"]["requestApiKeyName"]
            for node in self._cluster.controllers
            for request in self._requests(node)
            if request["isForwarded"]
            and request["requestHeader"]["requestApiKeyName"] not in READING
            and not request["request"].get("validateOnly")
            and client_id in (None, request["requestHeader"]["clientId"])
        )

    def _requests(self, node: int) -> Iterator[dict[str, Any]]:
        self._wait_for_later_requests(node)
        assert _size(self._cluster.log_file(node)) >= self._begin[node], "a controller that starts again begins its log again"
        with self._cluster.log_file(node).open("rb") as log:
            log.seek(self._begin[node])
            for line in log:
                _, mark, request = line.partition(MARK.encode())
                if mark and line.endswith(b"\n"):
                    yield json.loads(request)

    def _wait_for_later_requests(self, node: int) -> None:
        """A request is logged a moment after it was answered. Heartbeats and fetches of other nodes come all the time: when some more
        of them are logged, so are all requests that were answered before this was called."""
        path = self._cluster.log_file(node)
        end, deadline = _size(path), time.monotonic() + GIVE_UP_SECONDS
        while self._cluster.is_running(node) and time.monotonic() < deadline:
            with path.open("rb") as log:
                log.seek(end)
                if log.read().count(MARK.encode()) > 4:
                    return
            time.sleep(0.1)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
