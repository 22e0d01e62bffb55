"""Gateways: proxies in front of real brokers that add KIP-1275's messages, which no release has, and answer them from the real logs behind them.

A gateway passes on what it does not answer itself, one request of a connection after the other (so nothing that has no answer, as produce requests
with acks=0). It does what its `Rules` say, which tests change while it runs, and it remembers the native requests that it served.
"""

import asyncio
import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import kip1275, kip1275_numbers
from rig import gateway_broker
from rig.config import GATEWAY, Node
from rig.errors import RigError
from rig.gateway_broker import INVALID_REQUEST, OK, UNKNOWN_TOPIC_ID, BrokerEpochs, Controller
from rig.gateway_frames import API_VERSIONS, Request, framed, offering, read_frame, response
from rig.gateway_rules import ELECTION, LOG_INFO, Fault, Rules, Served, TopicPartition
from rig.proxy import End, Proxies, Way

FETCH, FUTURE_LOCAL_REPLICA, TOPIC_AUTHORIZATION_FAILED = 1, -3, 29
# The replica id of a Fetch request stands first in its body up to v14; the collection probes with v12.
PROBES = range(12, 15)


class Gateways(Proxies):
    """Gateways by broker id, on an event loop in a thread of its own. A gateway listens exactly as long as its broker does."""

    def __init__(self, brokers: Mapping[int, Node], controllers: Mapping[int, Node], pid: Callable[[int], int]) -> None:
        """`pid`: process id of a broker, which another one has after a start."""
        self.ports = {broker_id: node.gateway_port for broker_id, node in brokers.items() if node.gateway_port}
        self._brokers = brokers
        self._rules = dict.fromkeys(brokers, Rules())
        self._served: list[Served] = []
        self._limited: set[tuple[int, str, TopicPartition]] = set()
        self._throttled_until = dict.fromkeys(brokers, 0.0)
        self._epochs, self._controller = BrokerEpochs(controllers, pid), Controller()
        super().__init__({broker_id: (port, brokers[broker_id].more_ports[GATEWAY]) for broker_id, port in self.ports.items()})

    @contextmanager
    def with_rules(self, broker_ids: Iterable[int] | None = None, **rules: Any) -> Iterator[None]:
        """Let the gateways of these brokers (None: all) keep these rules (see `Rules`) for a while."""
        before = dict(self._rules)
        self._limited.clear()
        self._rules |= {broker: dataclasses.replace(self._rules[broker], **rules) for broker in broker_ids or self._rules}
        try:
            yield
        finally:
            self._rules = before

    def served(self) -> list[Served]:
        """The native requests that were served since this was asked the last time."""
        found, self._served = self._served, []
        return found

    def broker_epoch(self, broker_id: int) -> int:
        """The epoch of this broker's registration."""
        return self._epochs.of(broker_id)

    async def _exchange(self, broker_id: int, way: Way, client: End, broker: End) -> None:
        """One request after the other, until one side hangs up."""
        reader, writer = client
        from_broker, to_broker = broker
        with suppress(OSError, RigError):
            while frame := await read_frame(reader):
                await self._held_up(way)
                request = Request.parse(frame)
                answer = await self._answer(broker_id, request, from_broker, to_broker)
                if answer is None:
                    return
                if change := self._rules[broker_id].change:
                    answer = change(broker_id, request, answer)
                writer.write(answer)
                await writer.drain()
                if int.from_bytes(answer[:4], "big", signed=True) != len(answer) - 4:
                    writer.close()
                    await writer.wait_closed()
                    return

    async def _answer(
        self, broker_id: int, request: Request, from_broker: asyncio.StreamReader, to_broker: asyncio.StreamWriter
    ) -> bytes | None:
        """The answer as it goes over the wire, None where the broker has hung up."""
        rules = self._rules[broker_id]
        if rules.log_info and (request.api_key, request.version) == (rules.api_key, 0):
            return await self._native(rules, LOG_INFO, request, self._log_info, broker_id)
        if rules.elections and (request.api_key, request.version) == (
            kip1275_numbers.ELECT_LEADERS,
            kip1275_numbers.DESIGNATED_VERSION,
        ):
            return await self._native(rules, ELECTION, request, self._election, broker_id)
        if not rules.probes and request.api_key == FETCH and request.version in PROBES and (refused := _refused_probe(request)):
            return refused
        to_broker.write(framed(request.frame))
        await to_broker.drain()
        answer = await read_frame(from_broker)
        if answer and request.api_key == API_VERSIONS:
            offered = {rules.api_key: (0, 0)} if rules.log_info else {}
            answer = offering(answer, request.version, {**offered, **({kip1275_numbers.ELECT_LEADERS: (0, 3)} if rules.elections else {})})
        return answer and framed(answer)

    async def _native(
        self, rules: Rules, message: str, request: Request, answer: Callable[[Rules, int, Request], Any], broker_id: int
    ) -> bytes:
        reply = await asyncio.to_thread(answer, rules, broker_id, request)
        fault = rules.fault if rules.fault_in == message else None
        body = _body(reply, fault)
        if fault is Fault.SLOW:
            await asyncio.sleep(rules.delay)
        frame = framed(response(request.correlation_id + (fault is Fault.CORRELATION), body))
        return frame[: len(frame) // 2] if fault is Fault.CUT else frame

    def _log_info(self, rules: Rules, broker_id: int, request: Request) -> Any:
        throttled = time.monotonic() < self._throttled_until[broker_id]
        asking, telling = kip1275.log_info_messages(rules.api_key)
        asked = [
            (topic.topic_id, partition)
            for topic in asking.decode(request.flexible_body, version=0).topic_partitions or ()
            for partition in topic.partitions
        ]
        page = asked[: rules.log_info_limit]
        broker = self._brokers[broker_id]
        names = gateway_broker.topic_names(broker, {topic_id for topic_id, _partition in asked})
        limited = {(names[row[0]], row[1]) for row in page if row[0] in names} & self._limits(broker_id, rules, LOG_INFO)
        real = gateway_broker.log_ends(broker, [(names[topic_id], partition) for topic_id, partition in page if topic_id in names])
        rows: dict[Any, list[Any]] = {}
        for topic_id, partition in page:
            key = (names.get(topic_id, ""), partition)
            end = real.get(key, gateway_broker.LogEnd(UNKNOWN_TOPIC_ID, -1, -1))
            error = kip1275.REQUEST_LIMIT_REACHED if key in limited else rules.errors.get(key, end.error)
            kind = telling.TopicPartitionLogInfo.PartitionLogInfo
            rows.setdefault(topic_id, []).append(
                kind(
                    partition=partition,
                    partition_leader_epoch=-1 if error else end.leader_epoch,
                    log_end_offset=-1 if error else end.log_end_offset,
                    error_code=error,
                )
            )
        named = tuple((names.get(topic_id, ""), partition) for topic_id, partition in asked)
        self._served.append(Served(broker_id, LOG_INFO, request.client_id, named, len(page) - len(limited), throttled))
        self._throttled_until[broker_id] = time.monotonic() + rules.throttle_time_ms / 1000
        return telling(
            throttle_time_ms=rules.throttle_time_ms,
            broker_epoch=self._epochs.of(broker_id) if rules.broker_epoch is None else rules.broker_epoch,
            has_more_data=len(asked) > len(page),
            topic_partition_log_info_list=[
                telling.TopicPartitionLogInfo(topic_id=t, partition_log_info=reply) for t, reply in rows.items()
            ],
        )

    def _election(self, rules: Rules, broker_id: int, request: Request) -> Any:
        asked = kip1275.ElectDesignatedRequest.decode(request.flexible_body, version=kip1275_numbers.DESIGNATED_VERSION)
        topics = asked.topic_partitions or []
        keys = [(topic.topic, partition) for topic in topics for partition in topic.partitions]
        if any(topic.designated_leaders is not None and len(topic.designated_leaders) != len(topic.partitions) for topic in topics):
            return _elected({}, INVALID_REQUEST)
        designated = [leader for topic in topics for leader in topic.designated_leaders or [None] * len(topic.partitions)]
        if (asked.election_type == kip1275.DESIGNATED) != bool(topics and None not in designated):
            return _elected({}, INVALID_REQUEST)
        limited = set(keys[rules.election_limit :]) | (set(keys) & self._limits(broker_id, rules, ELECTION))
        served = {key: leader for key, leader in zip(keys, designated, strict=True) if key not in limited}
        broker = self._brokers[broker_id]
        if asked.election_type == kip1275.DESIGNATED:
            errors = self._controller.elect(broker, served, asked.timeout_ms)
        else:
            wanted = None if asked.topic_partitions is None else list(served)
            errors = gateway_broker.elect(broker, asked.election_type, wanted, asked.timeout_ms)
        self._served.append(Served(broker_id, ELECTION, request.client_id, tuple(keys), len(served)))
        return _elected(errors | dict.fromkeys(limited, kip1275.REQUEST_LIMIT_REACHED))

    def _limits(self, broker_id: int, rules: Rules, message: str) -> set[TopicPartition]:
        """The partitions that have not yet been refused once."""
        found = {key for key in rules.limited if (broker_id, message, key) not in self._limited}
        self._limited |= {(broker_id, message, key) for key in found}
        return found


def _body(reply: Any, fault: Fault | None) -> bytes:
    """The body of an answer, with what is wrong with it."""
    if fault is Fault.GARBAGE:
        return bytes(range(7, 60))
    if fault is Fault.OTHER:
        return bytes(FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=[]).encode(version=12))
    version = 0 if reply.name == "GetReplicaLogInfoResponse" else kip1275_numbers.DESIGNATED_VERSION
    lists = [
        topic.partition_log_info if version == 0 else topic.partition_result
        for topic in (reply.topic_partition_log_info_list if version == 0 else reply.replica_election_results)
    ]
    if lists and fault is Fault.MISSING:
        lists[-1].pop()
    if lists and fault is Fault.DUPLICATE:
        lists[-1].append(lists[-1][-1])
    if lists and fault is Fault.STRANGER:
        name = "partition" if version == 0 else "partition_id"
        kind = type(lists[-1][0])
        lists[-1].append(kind(**{field: getattr(lists[-1][0], field) for field in kind.fields} | {name: 9999}))
    return bytes(reply.encode(version=version))


def _elected(errors: Mapping[TopicPartition, int], error: int = OK) -> Any:
    kind = kip1275.ElectDesignatedResponse.ReplicaElectionResult
    topics: dict[str, list[Any]] = {}
    for (topic, partition), code in sorted(errors.items()):
        topics.setdefault(topic, []).append(kind.PartitionResult(partition_id=partition, error_code=code, error_message=None))
    results = [kind(topic=topic, partition_result=rows) for topic, rows in topics.items()]
    return kip1275.ElectDesignatedResponse(throttle_time_ms=0, error_code=error, replica_election_results=results)


def _refused_probe(request: Request) -> bytes | None:
    """The answer of a broker that lets no client read a replica without leader, None for other consumers' requests."""
    asked = FetchRequest.decode(request.flexible_body, version=request.version)
    if asked.replica_id != FUTURE_LOCAL_REPLICA:
        return None
    kind = FetchResponse.FetchableTopicResponse
    refused = [
        kind(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partitions=[
                kind.PartitionData(
                    partition_index=row.partition,
                    error_code=TOPIC_AUTHORIZATION_FAILED,
                    high_watermark=-1,
                    aborted_transactions=[],
                    records=b"",
                )
                for row in topic.partitions
            ],
        )
        for topic in asked.topics
    ]
    answer = FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=refused)
    return framed(response(request.correlation_id, bytes(answer.encode(version=request.version))))
