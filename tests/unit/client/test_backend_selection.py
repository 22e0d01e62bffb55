# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Backends: native only where every broker that answers offers both of KIP-1275's messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.backend_selection import (
    AUTO,
    BACKEND_ARGUMENTS,
    COMPAT,
    NATIVE,
    BackendError,
    Numbers,
    choose,
    for_plan,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.kip1275_numbers import ELECT_LEADERS

KEY = 95  # the first one that no message of Kafka 4.4 has
BOTH = {KEY: (0, 0), ELECT_LEADERS: (0, 3)}
NEITHER = {ELECT_LEADERS: (0, 2)}
VERSIONS = st.fixed_dictionaries(
    {ELECT_LEADERS: st.tuples(st.just(0), st.integers(0, 5))},
    optional={KEY: st.tuples(st.integers(0, 1), st.integers(1, 2))},
)


@given(st.dictionaries(st.integers(1, 9), VERSIONS, max_size=4))
def test_native_is_chosen_exactly_where_all_offer_both(offered: dict[int, dict[int, tuple[int, int]]]) -> None:
    all_offer = bool(offered) and all(
        versions.get(KEY, (1, 1))[0] == 0 and versions[ELECT_LEADERS][1] >= 3 for versions in offered.values()
    )
    assert choose(AUTO, offered, KEY).backend == (NATIVE if all_offer else COMPAT)
    assert choose(COMPAT, offered, KEY) == (COMPAT, None)
    if all_offer:
        assert choose(NATIVE, offered, KEY) == (NATIVE, None)
    else:
        with pytest.raises(BackendError, match="backend native cannot be used"):
            choose(NATIVE, offered, KEY)


def test_todays_kafka_is_no_reason_for_a_warning() -> None:
    assert choose(AUTO, {1: NEITHER, 2: NEITHER}, KEY) == (COMPAT, None)


def test_a_mixed_cluster_says_who_lacks_what() -> None:
    choice = choose(AUTO, {1: NEITHER, 2: BOTH, 3: NEITHER}, KEY)
    assert choice == (
        COMPAT,
        "falling back to backend compat: not every broker offers KIP-1275's messages: "
        "brokers 1, 3 have no GetReplicaLogInfo v0 (API key 95) and no ElectLeaders v3",
    )


def test_another_key_is_another_message() -> None:
    choice = choose(AUTO, {1: BOTH}, 96)
    assert choice.backend == COMPAT
    assert "no GetReplicaLogInfo v0 (API key 96)" in (choice.warning or "")
    assert choose(AUTO, {1: {96: (0, 0), ELECT_LEADERS: (0, 3)}}, 96).backend == NATIVE


def test_the_remedy_is_named() -> None:
    with pytest.raises(BackendError, match=r"Set backend to auto or compat; .* get_replica_log_info_api_key"):
        choose(NATIVE, {1: NEITHER}, KEY)
    with pytest.raises(BackendError, match="Set backend to auto or compat"):
        choose(NATIVE, {}, KEY)


@pytest.mark.parametrize("made_with", [COMPAT, NATIVE])
def test_a_plan_is_applied_with_the_backend_of_its_guards(made_with: str) -> None:
    assert for_plan(AUTO, made_with, "east.json") == for_plan(made_with, made_with, "east.json") == made_with
    other = COMPAT if made_with == NATIVE else NATIVE
    with pytest.raises(BackendError, match=f"east.json was made with backend {made_with} .* set backend to auto or {made_with}"):
        for_plan(other, made_with, "east.json")


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(BackendError, match=r"east\.json was made with backend telepathy"):
        for_plan(AUTO, "telepathy", "east.json")


GIVEN = {"get_replica_log_info_api_key": 1020, "designated_election_type": 2, "request_limit_reached_error": 137}


def test_without_the_key_of_the_new_message_todays_messages_are_used() -> None:
    assert choose(AUTO, {1: NEITHER}, None) == (COMPAT, None)
    choice = choose(AUTO, {1: BOTH, 2: BOTH}, None)
    assert choice.backend == COMPAT
    assert "brokers designate leaders (KIP-1275), but get_replica_log_info_api_key is not set" in (choice.warning or "")
    with pytest.raises(BackendError, match=r"backend native cannot be used: get_replica_log_info_api_key is not set"):
        choose(NATIVE, {1: BOTH}, None)


def test_numbers_that_no_release_has_fixed_are_options_and_the_key_has_no_default() -> None:
    assert Numbers.from_params(GIVEN) == (1020, 2, 137)
    assert Numbers.from_params({**GIVEN, "get_replica_log_info_api_key": None}).api_key is None
    assert {name: spec.get("default") for name, spec in BACKEND_ARGUMENTS.items()} == {
        "backend": "auto",
        "get_replica_log_info_api_key": None,
        "designated_election_type": 2,
        "request_limit_reached_error": 137,
    }


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("get_replica_log_info_api_key", key) for key in (-1, 1, 43, 92, 93, 94, 32768)),
        *(("designated_election_type", kind) for kind in (-1, 0, 1, 128)),
        *(("request_limit_reached_error", code) for code in (-1, 0, 41, 136, 32768)),
    ],
)
def test_a_number_that_stands_for_something_else_is_refused(option: str, value: int) -> None:
    with pytest.raises(BackendError, match=f"^{option} is {value}: it must be from "):
        Numbers.from_params({**GIVEN, option: value})
