# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What simulated nodes answer is what Kafka's own classes read, too."""

from __future__ import annotations

from collections import defaultdict
from itertools import count, islice
from typing import Any

import pytest
from simulation.drawn_script import drawn
from simulation.history import play
from wire.kafka_codec import KafkaCodec
from wire.kafka_layouts import Layouts, completed
from wire.our_messages import as_kafka_says, shared, without_records

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import wire_checks

HISTORIES = 12
EACH = 15  # answers of a message in a version that are compared


def test_kafka_reads_what_simulated_nodes_answer(kafka_codec: KafkaCodec, kafka_layouts: Layouts, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[tuple[Any, int], set[bytes]] = defaultdict(set)
    check = wire_checks.check

    def keep(kind: Any, version: int, body: memoryview) -> int:
        answers[kind, version].add(bytes(body))
        return check(kind, version, body)

    with monkeypatch.context() as patched:
        patched.setattr(wire_checks, "check", keep)  # as the simulated network does with each answer
        # The others have answers that are meant to be wrong.
        for script in islice((script for script in map(drawn, count(1)) if script.wrong_answers is None), HISTORIES):
            play(script)
    assert {kind.API_KEY for kind, _version in answers} >= {1, 2, 3, 9, 23, 43, 45, 55, 60, 61, 66, 75}
    for (kind, version), bodies in answers.items():
        kafka, fields = kafka_codec.message(f"{kind.name}Data"), shared(kind, kafka_layouts.fields(kind.name, version))
        for body in sorted(bodies, key=len)[-EACH:]:
            answer = without_records(as_kafka_says(kind.decode(body, version=version), fields), fields)
            assert answer == completed(kafka.decode(body, version), fields)
