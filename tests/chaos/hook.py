"""Runs inside a module's process: every request and every write to disk is reported to the watcher first, which may make a fault of it.

The module itself is unchanged. It waits for the watcher's word, so that a fault strikes exactly where it is meant to.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

DIE = "die"
PLANNING = "kafka_recovery_plan"  # asks no broker anything
BEFORE = "from chaos.hook import install; install({module!r}, {address!r})"


def install(module: str, address: str) -> None:
    """Connect to the watcher and tell it everything from now on."""
    teller = _Teller(module, address)
    if module != PLANNING:
        _tell_requests(teller)
    fsync = os.fsync

    def telling_fsync(descriptor: Any) -> None:
        teller.tell("write", "fsync")
        fsync(descriptor)

    os.fsync = telling_fsync  # type: ignore[assignment]


def _tell_requests(teller: _Teller) -> None:
    from kafka.net.manager import KafkaConnectionManager

    send: Callable[..., Any] = KafkaConnectionManager.send

    def telling_send(manager: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        name = type(request).__name__.removesuffix("Request")
        teller.tell("request", name, node=kwargs.get("node_id"), partitions=_partitions(request))
        return send(manager, request, *args, **kwargs).add_both(lambda _: teller.tell("answer", name))

    KafkaConnectionManager.send = telling_send


class _Teller:
    def __init__(self, module: str, address: str) -> None:
        self._module = module
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address)
        self._stream = connection.makefile("rw")
        self._guard = threading.Lock()

    def tell(self, kind: str, name: str, **details: Any) -> None:
        with self._guard:
            self._stream.write(json.dumps({"module": self._module, "kind": kind, "name": name, **details}) + "\n")
            self._stream.flush()
            if self._stream.readline().strip() == DIE:
                os.kill(os.getpid(), signal.SIGKILL)


def _partitions(request: Any) -> list[tuple[str, int]]:
    """The partitions that a request would change."""
    if type(request).__name__ == "ElectLeadersRequest":
        return [(topic.topic, number) for topic in request.topic_partitions for number in topic.partitions]
    if type(request).__name__ == "AlterPartitionReassignmentsRequest":
        return [(topic.name, row.partition_index) for topic in request.topics for row in topic.partitions]
    return []
