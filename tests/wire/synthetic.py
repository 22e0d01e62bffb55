"""Steps with answers that the stage does not give: encoded with kafka-python, among recorded ones."""

from typing import Any

from kafka.protocol.admin import IncrementalAlterConfigsResponse
from kafka.protocol.consumer import OffsetFetchResponse, OffsetForLeaderEpochResponse
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.metadata_log_reader import REQUEST_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_log_fetch
from wire.answers import Exchange
from wire.course import COMPAT, IMPACT, NATIVE, ONLINE, PARTITIONS, STEPS, TOGETHER, TOGETHER_PARTS, Step
from wire.mutations import KINDS, encoded

MECHANISM = "PLAIN"
_LOGIN = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": MECHANISM, "sasl_username": "recovery", "sasl_password": "secret"}
_EVIDENCE = next(step for step in STEPS if step.name == "evidence")
_ONLINE = [{"topic": ONLINE, "partition": number} for number in range(PARTITIONS)]
_THROTTLE = {"rate": 1_000_000, "measure_seconds": 0.1, "partitions": _ONLINE}
SYNTHETIC = (
    TOGETHER,
    Step("login", "kafka_partition_info", {"state": "all", **_LOGIN}),
    Step("snapshot", _EVIDENCE.module, _EVIDENCE.params, files=True),
    Step("epochs", IMPACT, files=True, writes=True),
    Step("throttle named", "kafka_replication_throttle", _THROTTLE, check=True),
)
FETCH, FETCH_SNAPSHOT = KINDS[1], metadata_log_fetch.FetchSnapshotResponse
LAST_EPOCH = 1


def exchanges(recorded: dict[str, list[Exchange]]) -> dict[str, list[Exchange]]:
    """The answers of the SYNTHETIC steps, made from recorded ones."""
    return {
        TOGETHER.name: [exchange for part in TOGETHER_PARTS for exchange in recorded[part]],
        "login": _login(recorded["partitions"]),
        "snapshot": _snapshot(recorded[_EVIDENCE.name]),
        "epochs": _epochs(recorded["impact"]),
        "throttle named": _altered(recorded["throttle"]),
    }


def _login(partitions: list[Exchange]) -> list[Exchange]:
    nodes = sorted({one.node for one in partitions})
    handshake = SaslHandshakeResponse(error_code=0, mechanisms=[MECHANISM])
    authenticated = SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=b"", session_lifetime_ms=3_600_000)
    return [
        *(_exchange(node, message, version) for node in nodes for message, version in ((handshake, 1), (authenticated, 2))),
        *partitions,
    ]


def _snapshot(evidence: list[Exchange]) -> list[Exchange]:
    """The metadata log's only answer, given away as a snapshot instead."""
    (fetched,) = [one for one in evidence if one.node == -1 and one.api_key == FETCH.API_KEY]
    answer = FETCH.decode(memoryview(fetched.answer)[1:], version=fetched.version)
    row = answer.responses[0].partitions[0]
    end, epoch, records = row.high_watermark, row.current_leader.leader_epoch, bytes(row.records)

    row.records = b""
    after = _exchange(-1, answer, fetched.version, _asked(metadata_log_fetch.fetch(end, LAST_EPOCH, epoch, REQUEST_BYTES), fetched.version))
    row.snapshot_id = FETCH.FetchableTopicResponse.PartitionData.SnapshotId(end_offset=end, epoch=LAST_EPOCH)
    before = _exchange(-1, answer, fetched.version, fetched.asked)

    kind = FETCH_SNAPSHOT.TopicSnapshot
    snapshot_id = kind.PartitionSnapshot.SnapshotId(end_offset=end, epoch=LAST_EPOCH)
    half = len(records) // 2
    pieces = []
    for position, piece in ((0, records[:half]), (half, records[half:])):
        request = metadata_log_fetch.fetch_snapshot(metadata_log_fetch.Snapshot(end, LAST_EPOCH), position, epoch, REQUEST_BYTES)
        partition = kind.PartitionSnapshot(
            index=0, error_code=0, snapshot_id=snapshot_id, size=len(records), position=position, unaligned_records=piece
        )
        message = FETCH_SNAPSHOT(throttle_time_ms=0, error_code=0, topics=[kind(name=metadata_log_fetch.TOPIC, partitions=[partition])])
        pieces.append(_exchange(-1, message, 1, _asked(request, 1)))
    return [two for one in evidence for two in ([before, *pieces, after] if one is fetched else [one])]


def _epochs(impact: list[Exchange]) -> list[Exchange]:
    """A group that has committed leader epochs, whose ends are asked for."""
    found = []
    for recorded in impact:
        one = recorded
        if one.api_key == OffsetFetchResponse.API_KEY:
            answer = OffsetFetchResponse.decode(memoryview(one.answer)[1:], version=one.version)
            for row in (row for group in answer.groups for topic in group.topics for row in topic.partitions):
                row.committed_leader_epoch = 0
            one = _exchange(one.node, answer, one.version, one.asked)
        found.append(one)
    kind = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
    rows = [kind.EpochEndOffset(error_code=0, partition=number, leader_epoch=0, end_offset=40) for number in range(PARTITIONS)]
    ends = OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=[kind(topic=topic, partitions=rows) for topic in (NATIVE, COMPAT)])
    return [*found, *(_exchange(node, ends, 4) for node in sorted({one.node for one in impact}))]


def _altered(throttle: list[Exchange]) -> list[Exchange]:
    """Configs that can be altered. In check mode brokers are asked to judge the changes."""
    kind = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    nodes = sorted({one.node for one in throttle})
    resources = [(4, str(node)) for node in nodes] + [(2, ONLINE)]
    rows = [kind(error_code=0, error_message=None, resource_type=type_, resource_name=name) for type_, name in resources]
    done = IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=rows)
    return [*throttle, *(_exchange(node, done, 1) for node in nodes)]


def _exchange(node: int, message: Any, version: int, asked: bytes = b"") -> Exchange:
    flexible = b"\0" if message.flexible_version_q(version) else b""
    return Exchange(node, message.API_KEY, version, asked, flexible + encoded(message, version))


def _asked(request: Any, version: int) -> bytes:
    return b"\0" + encoded(request, version)
