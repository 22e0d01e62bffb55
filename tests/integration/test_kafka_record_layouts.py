# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records that are decoded here, of the metadata log and of `__consumer_offsets`: the values are those that Kafka's own classes have written."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import strategies as st
from wire.drawn_messages import DAMAGES, TAGS, Damage, check_each, damaged, drawn
from wire.kafka_codec import GROUPS, METADATA, KafkaCodec
from wire.kafka_layouts import NO_UUID, Layouts, Values, completed

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_records
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.metadata_records import Record, UnknownRecordError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.offset_records import (
    OffsetRecordError,
    SavedOffset,
    key_of,
    value_of,
)

ALLOWED_NAME, BROKER = "orders", "7"
few_and_many = pytest.mark.parametrize("examples", [10, pytest.param(300, marks=pytest.mark.long)])


def ids(values: list[int] | None) -> tuple[int, ...] | None:
    return None if values is None else tuple(values)


def registration(v: Values) -> Record:
    return metadata_records.PartitionRegistration(
        v["topicId"],
        v["partitionId"],
        tuple(v["replicas"]),
        tuple(v["isr"]),
        v["leader"],
        v["leaderEpoch"],
        tuple(v.get("eligibleLeaderReplicas") or ()),
        v["leaderRecoveryState"] != 0,
        bool(v["removingReplicas"] or v["addingReplicas"]),
    )


def change(v: Values) -> Record:
    moving = [v[name] for name in ("removingReplicas", "addingReplicas") if v[name] is not None]
    return metadata_records.PartitionChange(
        v["topicId"],
        v["partitionId"],
        ids(v["replicas"]),
        ids(v["isr"]),
        None if v["leader"] == -2 else v["leader"],
        ids(v.get("eligibleLeaderReplicas")),
        None if v["leaderRecoveryState"] < 0 else v["leaderRecoveryState"] != 0,
        any(moving) if moving else None,
    )


def saved_offset(v: Values) -> SavedOffset:
    topic_id = v.get("topicId", NO_UUID)
    return SavedOffset(
        v["offset"], v.get("leaderEpoch", -1), v["metadata"], None if topic_id == NO_UUID else topic_id, v["commitTimestamp"]
    )


# What the product makes of each record; it reads no others.
READ: dict[str, Callable[[Values], Record]] = {
    "TopicRecord": lambda v: metadata_records.TopicCreated(v["name"], v["topicId"]),
    "RemoveTopicRecord": lambda v: metadata_records.TopicRemoved(v["topicId"]),
    "PartitionRecord": registration,
    "PartitionChangeRecord": change,
    "ConfigRecord": lambda v: metadata_records.ConfigChange(v["resourceType"], v["resourceName"], v["name"], v["value"]),
    "FeatureLevelRecord": lambda v: metadata_records.FeatureLevel(v["name"], v["featureLevel"]),
    "ClearElrRecord": lambda v: metadata_records.EligibleReplicasCleared(v["topicName"]),
    "BeginTransactionRecord": lambda v: metadata_records.TransactionStep("begin"),
    "EndTransactionRecord": lambda v: metadata_records.TransactionStep("end"),
    "AbortTransactionRecord": lambda v: metadata_records.TransactionStep("abort"),
}
# Names that Kafka allows; others are refused.
NAMES: Mapping[str, Values] = {"TopicRecord": {"name": ALLOWED_NAME}, "ConfigRecord": {"resourceName": BROKER}}


@few_and_many
def test_records_of_the_metadata_log_are_read_as_kafka_wrote_them(kafka_codec: KafkaCodec, kafka_layouts: Layouts, examples: int) -> None:
    def check(name: str, version: int, values: Values) -> None:
        allowed = {**values, **NAMES.get(name, {})}
        value = kafka_codec.metadata_value(kafka_codec.message(name, METADATA).object(allowed, version), version)
        expected = READ[name](completed(allowed, kafka_layouts.fields(name, version))) if name in READ else None
        assert metadata_records.decode(value) == expected

    names = sorted(kafka_layouts.of_type("metadata"))
    assert READ.keys() <= set(names)
    for name in names:
        for version in kafka_layouts.versions(name):
            check_each(examples, check, st.just(name), st.just(version), drawn(kafka_layouts.fields(name, version)))


@few_and_many
def test_a_tagged_field_of_a_record_that_is_not_known_ends_the_history(
    kafka_codec: KafkaCodec, kafka_layouts: Layouts, examples: int
) -> None:
    def check(name: str, version: int, values: Values, tags: dict[int, bytes]) -> None:
        message = kafka_codec.message(name, METADATA).object({**values, **NAMES.get(name, {})}, version)
        kafka_codec.add_unknown_tags(message, (), tags)
        with pytest.raises(UnknownRecordError, match="tagged field"):
            metadata_records.decode(kafka_codec.metadata_value(message, version))

    for name in READ:
        for version in kafka_layouts.versions(name):
            check_each(examples // 5, check, st.just(name), st.just(version), drawn(kafka_layouts.fields(name, version)), TAGS)


@few_and_many
def test_damaged_records_are_read_as_kafka_reads_them_or_refused(kafka_codec: KafkaCodec, kafka_layouts: Layouts, examples: int) -> None:
    def check(name: str, version: int, values: Values, damage: Damage) -> None:
        message = kafka_codec.message(name, METADATA).object({**values, **NAMES.get(name, {})}, version)
        for value in damaged(kafka_codec.metadata_value(message, version), damage):
            try:
                record = metadata_records.decode(value)
            except UnknownRecordError:
                continue
            if record is not None:
                found, its_version, read = kafka_codec.metadata_record(value)
                assert record == READ[found](completed(read, kafka_layouts.fields(found, its_version)))

    for name in READ:
        for version in kafka_layouts.versions(name):
            check_each(examples // 3, check, st.just(name), st.just(version), drawn(kafka_layouts.fields(name, version)), DAMAGES)


@few_and_many
def test_keys_of_offsets_are_read_as_kafka_wrote_them(kafka_codec: KafkaCodec, kafka_layouts: Layouts, examples: int) -> None:
    def check(name: str, values: Values) -> None:
        allowed = {**values, "topic": ALLOWED_NAME, "partition": max(values["partition"], 0)}
        key = kafka_codec.message(name, GROUPS).encode(allowed, 0)
        found = key_of(kafka_layouts.key(name).to_bytes(2, "big") + key)
        assert found == (allowed["group"], (ALLOWED_NAME, allowed["partition"]))

    for name in ("LegacyOffsetCommitKey", "OffsetCommitKey"):
        check_each(examples, check, st.just(name), drawn(kafka_layouts.fields(name, 0)))


@few_and_many
def test_values_of_offsets_are_read_as_kafka_wrote_them(kafka_codec: KafkaCodec, kafka_layouts: Layouts, examples: int) -> None:
    def check(version: int, values: Values, tags: dict[int, bytes]) -> None:
        allowed = {**values, "offset": max(values["offset"], 0)}
        if "leaderEpoch" in values:
            allowed["leaderEpoch"] = max(values["leaderEpoch"], -1)
        message = kafka_codec.message("OffsetCommitValue", GROUPS).object(allowed, version)
        if version >= 4:
            kafka_codec.add_unknown_tags(message, (), tags)  # which KIP-915 allows
        assert value_of(version.to_bytes(2, "big") + kafka_codec.written(message, version)) == saved_offset(allowed)

    for version in kafka_layouts.versions("OffsetCommitValue"):
        check_each(examples, check, st.just(version), drawn(kafka_layouts.fields("OffsetCommitValue", version)), TAGS)


@few_and_many
def test_damaged_values_of_offsets_are_read_as_kafka_reads_them_or_refused(
    kafka_codec: KafkaCodec, kafka_layouts: Layouts, examples: int
) -> None:
    kafka = kafka_codec.message("OffsetCommitValue", GROUPS)

    def check(version: int, values: Values, damage: Damage) -> None:
        for content in damaged(kafka.encode({**values, "offset": max(values["offset"], 0)}, version), damage):
            try:
                saved = value_of(version.to_bytes(2, "big") + content)
            except OffsetRecordError:
                continue
            assert saved == saved_offset(kafka.decode(content, version))

    for version in kafka_layouts.versions("OffsetCommitValue"):
        check_each(examples, check, st.just(version), drawn(kafka_layouts.fields("OffsetCommitValue", version)), DAMAGES)
