# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A preview of changed configs shows what the cluster would show, is refused what the cluster refuses, and changes nothing."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from fake_config_cluster import Configurable
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    APPEND,
    BROKER,
    DELETE,
    OF_TOPIC,
    SET,
    SUBTRACT,
    TOPIC,
    ConfigOperation,
    Refusal,
    Resource,
    Setting,
    Settings,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.config_preview import ConfigPreview
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    LEADER_RATE,
    LEADER_REPLICAS,
    LISTS,
    RATES,
)

pytestmark = pytest.mark.slow

ENTRIES = st.lists(st.sampled_from(["0:1", "0:2", "1:1"]), min_size=1, unique=True).map(",".join)
CHANGES = st.one_of(
    st.builds(ConfigOperation, st.just(Resource(TOPIC, "t")), st.just(LEADER_REPLICAS), st.sampled_from([APPEND, SUBTRACT, SET]), ENTRIES),
    st.builds(ConfigOperation, st.just(Resource(TOPIC, "t")), st.just(LEADER_REPLICAS), st.just(DELETE)),
    st.builds(ConfigOperation, st.just(Resource(BROKER, "1")), st.just(LEADER_RATE), st.just(SET), st.sampled_from(["5000", "6000"])),
    st.builds(ConfigOperation, st.just(Resource(BROKER, "1")), st.just(LEADER_RATE), st.just(DELETE)),
)


@given(st.lists(CHANGES))
def test_it_shows_what_the_cluster_would_show(changes: list[ConfigOperation]) -> None:
    real, untouched = Configurable(), Configurable()
    preview = ConfigPreview(untouched)
    for cluster in (real, preview):
        cluster.broker_configs({1}, RATES)
        cluster.topic_configs_of({"t"}, LISTS)
        for change in changes:
            assert cluster.alter_configs([change]) == {change.resource: None}
    assert preview.broker_configs({1}, RATES) == real.broker_configs({1}, RATES)
    assert preview.topic_configs_of({"t"}, LISTS) == real.topic_configs_of({"t"}, LISTS)
    assert untouched.configs() == Configurable().configs() and untouched.changes == []


def test_what_is_refused_is_not_shown() -> None:
    cluster = Configurable()
    cluster.live.discard(2)
    cluster.refusing[Resource(BROKER, "1")] = Refusal("CLUSTER_AUTHORIZATION_FAILED", None)
    preview = ConfigPreview(cluster)
    changes = [ConfigOperation(Resource(BROKER, str(broker)), LEADER_RATE, SET, "5000") for broker in (1, 2, 3)]
    assert preview.broker_configs({1, 2, 3}, RATES) == {1: {}, 3: {}}
    answers = preview.alter_configs(changes)
    assert answers == {Resource(BROKER, "1"): Refusal("CLUSTER_AUTHORIZATION_FAILED", None), Resource(BROKER, "3"): None}
    shown = preview.broker_configs({1, 2, 3}, RATES)
    assert shown[1] == {} and 2 not in shown and shown[3][LEADER_RATE].value == "5000"


def test_what_it_remembers_of_topics_has_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    class Verbose(Configurable):
        def topic_configs_of(self, topics: Collection[str], names: Collection[str]) -> dict[str, Settings]:
            return {topic: {LEADER_REPLICAS: Setting(topic * 1000, OF_TOPIC)} for topic in topics}

    monkeypatch.setattr(limits, "CONFIGS_BYTES", 1 << 20)
    preview = ConfigPreview(Verbose())
    preview.topic_configs_of({"first"}, LISTS)
    with pytest.raises(ClusterError, match=r"of [0-9]+ topics take more than 1 MiB"):
        for number in range(1000):
            preview.topic_configs_of({f"t{number}"}, LISTS)
