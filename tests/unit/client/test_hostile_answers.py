# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a node answers, a module ends with a result or one clear error. Thousands more of these run in tests/integration/test_hostile_broker.py."""

from __future__ import annotations

import contextlib
import struct
from collections import Counter
from collections.abc import Iterator

import pytest
from wire import fuzz as fuzzed
from wire.answers import Exchange, load
from wire.course import ONLINE
from wire.endpoint import Endpoints
from wire.fuzz import Fuzz, fuzzing
from wire.mutations import BYTES, VALUES, mutate
from wire.run import MOST_MEGABYTES
from wire.sent import requests
from wire.synthetic import marker_written

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.group_offset_admin import GroupOffsetAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import Marker

MUTATIONS = 120  # 4 of each kind


@pytest.fixture
def fuzz() -> Iterator[Fuzz]:
    """Every module, and endpoints that answer as real nodes did once."""
    with fuzzing() as fuzz:
        assert not fuzz.prepare(), "the answers do not fit what is asked: record them with python -m wire, in tests/"
        yield fuzz


@pytest.mark.slow
def test_every_kind_of_answer_can_be_changed_in_any_way(fuzz: Fuzz) -> None:
    findings = list(fuzz.mutations(MUTATIONS, quick=True))
    assert not findings, "\n".join(map(str, findings))
    assert sum(fuzz.tried.values()) >= MUTATIONS
    assert len(fuzz.tried) == len(fuzz.kinds)
    assert fuzz.megabytes < MOST_MEGABYTES


# The module writes markers behind a producer of librdkafka, which does not survive such answers. This request is sent alone, below.
NOT_IN_COURSE = {27: "WriteTxnMarkersRequest"}


@pytest.mark.slow
def test_every_request_that_the_collection_sends_has_answers_to_change() -> None:
    with fuzzing() as fuzz:
        answered = {api_key for api_key, _version in fuzz.kinds}
    assert {key: kind.name for key, kind in requests().items() if key not in answered} == NOT_IN_COURSE


@pytest.mark.slow
def test_any_answer_to_a_marker_ends_in_a_result_or_one_clear_error() -> None:
    ports, recorded = load()
    written = marker_written()
    marker = Marker(40, 0, "commit", 3, 7, 0)
    endpoints = Endpoints({node: ports[node] for node in {one.node for one in recorded["partitions"]}})
    connection = Connection(tuple(endpoints.addresses(written.node)), request_timeout=0.5)
    ended = Counter[str]()
    with contextlib.closing(endpoints):
        for number in range(MUTATIONS):

            def change(_at: int, exchange: Exchange, frame: bytes, seed: str = f"marker {number}") -> bytes:
                return mutate(seed, exchange, frame)[1] if exchange == written else frame

            endpoints.play([*recorded["partitions"], written], change if number else None)
            try:
                with GroupOffsetAdmin(connection) as admin:
                    refused = admin.write_commit((ONLINE, 0), written.node, marker)
                assert refused is None or refused.isprintable()
                ended["written" if refused is None else "refused"] += 1
            except RecoveryError as error:
                assert str(error).isprintable()
                ended["error"] += 1
            assert number or ended == {"written": 1}
    assert ended["refused"], ended


def test_every_mutation_is_done_to_some_answer() -> None:
    _ports, recorded = load()
    exchanges = [exchange for step in ("evidence", "election") for exchange in recorded[step]]
    done = {
        mutate(f"{place} {number}", exchange, struct.pack(">ii", len(exchange.answer) + 4, 1) + exchange.answer)[0]
        for place, exchange in enumerate(exchanges)
        for number in range(10)
    }
    assert done == {name for name, _change in (*BYTES, *VALUES)}


@pytest.mark.slow
def test_an_undisturbed_step_that_fails_is_named_also_if_it_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzed, "PLAYED", [step for step in fuzzed.PLAYED if step.name == "throttle"])
    monkeypatch.setattr(fuzzed, "UNDISTURBED_TIMEOUT", 0.25)
    ports, recorded = load()
    monkeypatch.setattr(fuzzed, "load", lambda: (ports, {**recorded, "throttle": []}))
    with fuzzing() as fuzz:
        (problem,) = fuzz.prepare()
    assert problem.startswith("throttle: it failed: ")
