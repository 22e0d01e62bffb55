"""Steps with answers that the stage does not give: encoded with kafka-python, among recorded ones."""

from pathlib import Path
from typing import Any
from uuid import UUID

from kafka.protocol.admin import IncrementalAlterConfigsResponse, ListGroupsResponse
from kafka.protocol.consumer import OffsetCommitResponse, OffsetFetchResponse, OffsetForLeaderEpochResponse
from kafka.protocol.metadata import FindCoordinatorResponse, MetadataResponse
from kafka.protocol.producer import WriteTxnMarkersResponse
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse
from unit.offset_record_bytes import offset_key, offset_value
from unit.record_batches import batch_of

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.metadata_log_reader import REQUEST_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_log_fetch, share_groups
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import private_directory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.part_writer import open_part
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail
from wire.answers import Exchange
from wire.course import COMPAT, IMPACT, LEADER, NAME, NATIVE, ONLINE, PARTITIONS, REPLAY, RUN, STEPS, TOGETHER, TOGETHER_PARTS, Step
from wire.mutations import KINDS, encoded

MECHANISM = "PLAIN"
# The end of epoch 0 in the logs of NATIVE and COMPAT, and a committed offset below it.
EPOCH_END, BEFORE = 40, 30
GROUP, GROUPS, SHARERS = "billing", "__consumer_offsets", "sharers"
NO_UUID = UUID(int=0)
_LOGIN = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": MECHANISM, "sasl_username": "recovery", "sasl_password": "secret"}
_EVIDENCE = next(step for step in STEPS if step.name == "evidence")
_ONLINE = [{"topic": ONLINE, "partition": number} for number in range(PARTITIONS)]
_THROTTLE = {"rate": 1_000_000, "measure_seconds": 0.1, "partitions": _ONLINE}
SYNTHETIC = (
    TOGETHER,
    Step("login", "kafka_partition_info", {"state": "all", **_LOGIN}),
    Step("snapshot", _EVIDENCE.module, _EVIDENCE.params, files=True),
    Step("epochs", IMPACT, files=True, writes=True),
    Step("shares", IMPACT, files=True, writes=True),
    Step("offsets", REPLAY, {"topics": [GROUPS], "allow_replay": True, "include_group_offsets": True}, files=True, writes=True),
    Step("throttle named", "kafka_replication_throttle", _THROTTLE, check=True),
)
FETCH, FETCH_SNAPSHOT = KINDS[1], metadata_log_fetch.FetchSnapshotResponse
LAST_EPOCH = 1


def exchanges(recorded: dict[str, list[Exchange]]) -> dict[str, list[Exchange]]:
    """The answers of the SYNTHETIC steps, made from recorded ones."""
    epochs = _epochs(recorded["impact"])
    return {
        TOGETHER.name: [exchange for part in TOGETHER_PARTS for exchange in recorded[part]],
        "login": _login(recorded["partitions"]),
        "snapshot": _snapshot(recorded[_EVIDENCE.name]),
        "epochs": epochs,
        "shares": _shares(epochs),
        "offsets": _offsets(epochs),
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
    rows = [kind.EpochEndOffset(error_code=0, partition=number, leader_epoch=0, end_offset=EPOCH_END) for number in range(PARTITIONS)]
    ends = OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=[kind(topic=topic, partitions=rows) for topic in (NATIVE, COMPAT)])
    return [*found, *(_exchange(node, ends, 4) for node in sorted({one.node for one in impact}))]


def _shares(epochs: list[Exchange]) -> list[Exchange]:
    """A share group that has acknowledged more than the log has."""
    found = []
    for recorded in epochs:
        one = recorded
        if one.api_key == ListGroupsResponse.API_KEY and one.node == LEADER:
            answer = ListGroupsResponse.decode(memoryview(one.answer)[1:], version=one.version)
            kind = ListGroupsResponse.ListedGroup
            answer.groups.append(kind(group_id=SHARERS, protocol_type="share", group_state="Empty", group_type="share"))
            one = _exchange(one.node, answer, one.version, one.asked)
        found.append(one)
    group = share_groups.DescribeShareGroupOffsetsResponse.ResponseGroup
    topic = group.ResponseTopic
    row = topic.ResponsePartition
    rows = [
        row(partition_index=number, start_offset=BEFORE, leader_epoch=0, lag=-EPOCH_END, error_code=0, error_message=None)
        for number in range(PARTITIONS)
    ]
    topics = [topic(topic_name=name, topic_id=NO_UUID, partitions=rows) for name in (NATIVE, COMPAT)]
    groups = [group(group_id=SHARERS, topics=topics, error_code=0, error_message=None)]
    described = share_groups.DescribeShareGroupOffsetsResponse(throttle_time_ms=0, groups=groups)
    return [*found, _exchange(LEADER, described, 1)]


def save_offset(workdir: Path, recorded: dict[str, list[Exchange]]) -> None:
    """Save a record of a committed offset, which the step `offsets` commits again."""
    metadata = next(one for one in recorded["permissions"] if one.api_key == MetadataResponse.API_KEY and NATIVE.encode() in one.answer)
    answer = MetadataResponse.decode(memoryview(metadata.answer)[1:], version=metadata.version)
    topic_id = next(topic.topic_id.bytes for topic in answer.topics if topic.name == NATIVE)
    data = batch_of(0, [(0, offset_key(GROUP, NATIVE, 0), offset_value(EPOCH_END, 0, version=4, topic_id=topic_id), [])])
    folder = folder_of(workdir, RUN, NAME)
    private_directory(folder)
    with open_part(folder, {"cluster": NAME, "cluster_id": answer.cluster_id, "run_id": RUN, "backend": "compat"}) as part:
        part.add(Tail(GROUPS, 0, "lost", 0, LEADER, 0, 1), 0, memoryview(data), [*stored_batches(data)])


def _offsets(epochs: list[Exchange]) -> list[Exchange]:
    """A group whose committed offset is behind the saved one until it is committed."""
    found = []
    for one in epochs:
        if one.api_key != OffsetFetchResponse.API_KEY:
            found.append(one)
            continue
        answer = OffsetFetchResponse.decode(memoryview(one.answer)[1:], version=one.version)
        # The coordinator is requested once more, right before the commit.
        for offset in (BEFORE, *([BEFORE] if one.node == LEADER else []), EPOCH_END):
            for row in (row for group in answer.groups for topic in group.topics for row in topic.partitions):
                row.committed_offset = offset
            found.append(_exchange(one.node, answer, one.version))
    coordinator = FindCoordinatorResponse(throttle_time_ms=0, error_code=0, error_message=None, node_id=LEADER, host="127.0.0.1", port=9092)
    kind = OffsetCommitResponse.OffsetCommitResponseTopic
    rows = [kind.OffsetCommitResponsePartition(partition_index=0, error_code=0)]
    committed = OffsetCommitResponse(throttle_time_ms=0, topics=[kind(name=NATIVE, partitions=rows)])
    return [*found, _exchange(LEADER, coordinator, 3), _exchange(LEADER, committed, 9)]


def marker_written() -> Exchange:
    """The answer of a leader that has written the marker of producer 7 to the first partition of ONLINE."""
    kind = WriteTxnMarkersResponse.WritableTxnMarkerResult
    topic = kind.WritableTxnMarkerTopicResult
    rows = [topic(name=ONLINE, partitions=[topic.WritableTxnMarkerPartitionResult(partition_index=0, error_code=0)])]
    return _exchange(LEADER, WriteTxnMarkersResponse(markers=[kind(producer_id=7, topics=rows)]), 1)


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
