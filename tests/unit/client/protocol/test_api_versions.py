# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers of ApiVersions as plain data."""

from __future__ import annotations

from typing import Any

from kafka.protocol.metadata import ApiVersionsResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import api_versions


def test_vote_versions_are_what_a_controller_offers() -> None:
    def offered(*rows: tuple[int, int, int]) -> Any:
        kind = ApiVersionsResponse.ApiVersion
        return ApiVersionsResponse(api_keys=[kind(api_key=key, min_version=low, max_version=high) for key, low, high in rows])

    assert api_versions.read_vote_versions(offered((1, 4, 17), (52, 0, 2))) == (0, 2)
    assert api_versions.read_vote_versions(offered((1, 4, 17))) is None  # a broker


def test_a_feature_that_is_not_finalized_is_off_and_one_that_a_broker_does_not_report_is_unknown() -> None:
    def answer(epoch: int, version: int = 4) -> Any:
        row = ApiVersionsResponse.FinalizedFeatureKey(name="eligible.leader.replicas.version", max_version_level=1, min_version_level=1)
        sent = ApiVersionsResponse(api_keys=[], finalized_features_epoch=epoch, finalized_features=[row]).encode(version=version)
        return ApiVersionsResponse.decode(bytes(sent), version=version)

    assert api_versions.read_feature_level(answer(7), "eligible.leader.replicas.version") == 1
    assert api_versions.read_feature_level(answer(7), "group.version") == 0
    assert api_versions.read_feature_level(answer(-1), "eligible.leader.replicas.version") is None
    assert api_versions.read_feature_level(answer(7, version=2), "eligible.leader.replicas.version") is None
