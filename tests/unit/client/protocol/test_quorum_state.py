# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers of DescribeQuorum: what no quorum has is refused."""

from __future__ import annotations

import pytest
from kafka.protocol.admin import DescribeQuorumResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import quorum_state
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError


@pytest.mark.parametrize("partitions", [None, 0, 2])
def test_a_quorum_without_its_log_is_refused(partitions: int | None) -> None:
    topic = DescribeQuorumResponse.TopicData
    topics = [] if partitions is None else [topic(topic_name="__cluster_metadata", partitions=[topic.PartitionData()] * partitions)]
    with pytest.raises(AnswerError, match=r"has [0-9]+ topics"):
        quorum_state.quorum_error(DescribeQuorumResponse(error_code=0, topics=topics))
