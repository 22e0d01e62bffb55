# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which partitions a task revives, and on which brokers: as the operator names them, as they were planned, or as a killed run has begun them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import Name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, in_recovery_order
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import validate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.journal import Begun


class Target(NamedTuple):
    """The new replicas of a partition, the preferred leader first. If there are none: `why_none`."""

    replicas: tuple[int, ...]
    why_none: str | None = None


ARGUMENT: dict[str, Any] = {
    "type": "list",
    "elements": "dict",
    "options": {"topic": {"type": "str", "required": True}, "partition": {"type": "int"}},
}
NOT_PLANNED = "reassignment_file does not have it; plan again with without_survivor, or correct lost_brokers"


def chosen(params: Mapping[str, Any], begun: Mapping[TopicPartition, Begun]) -> dict[TopicPartition, Target]:
    """Return the new replicas of each partition of the task, in recovery order.

    params  `partitions`, or `reassignment_file` and `only`
    begun   revivals of killed runs. With `only` they are continued with their replicas, whatever was planned
    Raises RecoveryError for names and files that are not valid.
    """
    if params["only"] is None:
        wanted = validate.with_replicas(validate.wanted_by(params))
        return {key: Target(replicas) for key, replicas in wanted.items()}
    planned, held = _planned(params["reassignment_file"], params["reassignment_file_sha256"])
    named = {(row["topic"], row["partition"]) for row in params["only"] if row.get("partition") is not None}
    topics = {row["topic"] for row in params["only"] if row.get("partition") is None}
    targets = {
        **dict.fromkeys(named, Target((), NOT_PLANNED)),
        **{key: Target((), why) for key, why in held.items()},
        **{key: Target(one.target) for key, one in begun.items()},
        **{key: Target(replicas) for key, replicas in planned.items()},
    }
    return {key: targets[key] for key in sorted(targets, key=in_recovery_order) if key in named or key[0] in topics}


def _planned(reassignment_file: str, file_sha256: str | None) -> tuple[dict[TopicPartition, tuple[int, ...]], dict[TopicPartition, str]]:
    """Return the new replicas by partition, and why others have none. A file may have no partition: then nothing was planned."""
    document, source = validate.read_document(reassignment_file, file_sha256), f"reassignment_file {reassignment_file}"
    try:
        strict_json.check(document, {"held": [{"topic": Name(), "partition": int, "explanation": str}]})
    except strict_json.ContentError as error:
        raise RecoveryError(f"{source}: {error}; plan again with kafka_redundancy_plan") from error
    planned = validate.with_replicas(validate.wanted_in(document["partitions"], source)) if document["partitions"] else {}
    return planned, {(row["topic"], row["partition"]): row["explanation"] for row in document["held"]}
