# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers that list brokers: what no cluster has is refused."""

from __future__ import annotations

import pytest
from kafka.protocol.metadata import MetadataResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import broker_nodes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError


@pytest.mark.parametrize("ids", [[1, 1], [-1, 2], list(range(3_000))])
def test_brokers_that_no_cluster_has_are_refused(ids: list[int]) -> None:
    row = MetadataResponse.MetadataResponseBroker
    answer = MetadataResponse(brokers=[row(node_id=number, host="h", port=9092, rack=None) for number in ids])
    with pytest.raises(AnswerError, match=f"names {len(ids)} brokers"):
        broker_nodes.read_nodes(answer)


@pytest.mark.parametrize(("host", "rack"), [("h" * 256, None), ("h", "r" * 256)])
def test_brokers_with_names_beyond_any_are_refused(host: str, rack: str | None) -> None:
    answer = MetadataResponse(brokers=[MetadataResponse.MetadataResponseBroker(node_id=7, host=host, port=9092, rack=rack)])
    with pytest.raises(AnswerError, match=r"gives broker 7 a host of .* the limit is 255"):
        broker_nodes.read_nodes(answer)
