# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged evidence documents: each is refused, or decoded with a defect that names the place, and raises nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from evidence_documents import document
from hostile_content import damage, encoded, mutate, places
from hypothesis import given, settings
from hypothesis import strategies as st
from partition_situations import COMING_BACK, FENCED, Log, Situation, broker_rows, healthy, history

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.contradictions import beside_header
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import (
    DocumentError,
    decode,
    read,
    read_absent,
    read_brokers,
    read_header,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    IMPOSSIBLE_ANSWER,
    Broker,
    ClusterHeader,
    PartitionEvidence,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import documents, isr_history, log_comparison
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.committed_proofs import proof_row
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog

Document = dict[str, Any]
SHORT, LONG = Log.of((100, 0), high_watermark=80), Log.of((120, 0), high_watermark=80)
PAST = history({"leader": 1, "isr": [1, 2, 3]}, {"isr": [1, 2]}, {"leader": -1, "isr": []})
# Logs: 0 is broker 1 (fenced), 1 is broker 2 (100 records), 2 is broker 3 (120 records).
SOUND: Document = document(
    Situation(
        "orders", {1: FENCED, 2: SHORT, 3: LONG}, proofs=[(100, 2, True)], history=PAST, healthy=healthy(60, 120, 80, 2.5)
    ).rows()
)  # fmt: skip
NAME = '{"topic":"orders","partition":0'


def at(path: str, value: Any) -> Document:
    """The sound document with this value at a path such as `logs.1.error`."""
    changed = copy.deepcopy(SOUND)
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    container: Any = changed
    for step in way:
        container = container[step]
    container[last] = value
    return changed


def place(path: str) -> str:
    """A path as defects write it: `logs[1].error`."""
    first, *rest = path.split(".")
    return first + "".join(f"[{step}]" if step.isdigit() else f".{step}" for step in rest)


def test_a_sound_document_has_no_defects() -> None:
    found = decode(json.dumps(SOUND))
    assert found == decode(json.dumps(SOUND).encode()) == read(SOUND)
    assert (found.topic, found.partition, found.defects) == ("orders", 0, ())
    assert found.state and found.state.replicas == (1, 2, 3)
    assert [log.log_end_offset for log in found.logs] == [None, 100, 120]
    assert [*found.pairs] == [(2, 3)] and found.proofs[0].held
    assert found.history and found.history.changes[1].isr == (1, 2)
    assert found.healthy and found.healthy.append_rate == 2.5


# --- values that cannot be ---------------------------------------------------------------------------------------------

WRONG: tuple[Any, ...] = (True, "7", 7.0, float("nan"), float("inf"), 2**70, 10**4000, [7], {"a": 7})
OFFSET, INT32 = (*WRONG, -1, -(2**63), 2**63), (*WRONG, -3, 2**31)
TIME = (*WRONG, -(2**63), 2**63)
BOOLEAN: tuple[Any, ...] = (0, 1, "true", [], 1.0)
TEXT = (7, True, ["a"], {"a": "b"}, "x" * 5000, "\ud800")
TOPIC_ID = (*TEXT, None, "", "a b", "../x", "ö", "a\n")
BROKERS: tuple[Any, ...] = (
    1, "12", True, [None], [True], [1.5], ["1"], [-1], [2**31], [[1]], {"1": 1}, [2, 2], [*range(10_000)],
)  # fmt: skip
LIST: tuple[Any, ...] = (7, "logs", {}, True)
ROW: tuple[Any, ...] = (7, "log", [], True)
REQUIRED: dict[str, tuple[Any, ...]] = {
    "topic_id": TOPIC_ID, "leader": INT32, "leader_epoch": INT32, "replicas": BROKERS, "isr": BROKERS, "eligible_leader_replicas": BROKERS,
    "last_known_elr": BROKERS, "reassigning": BOOLEAN, "named": BOOLEAN,
    "offline_replicas": BROKERS,
    "logs.0.broker_id": (*INT32, -1), "logs.0.broker_state": (*TEXT, "tired", []),
    "pairs.0.broker_a": (*INT32, -1), "pairs.0.broker_b": (*INT32, -1), "pairs.0.relation": (*TEXT, "similar", []),
    "proofs.0.source": TEXT, "proofs.0.offset": (*OFFSET, 0), "proofs.0.broker_id": (*INT32, -1),
    "history.changes.1.offset": OFFSET, "history.changes.1.leader": INT32, "history.changes.1.leader_epoch": INT32,
    "history.changes.1.isr": BROKERS, "history.changes.1.eligible_leader_replicas": BROKERS, "history.changes.1.unclean": BOOLEAN,
    "history.changes.1.reassigned": BOOLEAN, "history.changes": LIST,
    "healthy.observed_at": (*OFFSET, 0), "healthy.topic_id": TOPIC_ID, "healthy.leader_epoch": (*INT32, -1), "healthy.isr": BROKERS,
    "healthy.log_end_offset": OFFSET, "healthy.high_watermark": OFFSET,
}  # fmt: skip
NULLABLE: dict[str, tuple[Any, ...]] = {
    "min_insync_replicas": (*INT32, 0), "unclean_leader_election_enable": BOOLEAN, "cleanup_policy": TEXT,
    "offsets_unread": BOOLEAN, "remote_storage_enable": BOOLEAN,
    "logs.1.error": TEXT, "logs.1.log_start_offset": OFFSET, "logs.1.log_end_offset": OFFSET, "logs.1.high_watermark": OFFSET,
    "logs.1.partition_leader_epoch": (*INT32, -2), "logs.1.last_written_epoch": (*INT32, -2), "logs.1.broker_epoch": OFFSET,
    "logs.1.last_batch_transactional": BOOLEAN, "logs.1.last_batch_base_offset": OFFSET, "logs.1.last_batch_last_offset": OFFSET,
    "logs.1.last_batch_crc": (*WRONG, -1, 2**32), "logs.1.last_batch_max_timestamp": TIME, "logs.1.probe_error": TEXT,
    "logs.1.read_from_disk_at": TIME,
    "logs.1.failed_log_dirs": (7, "/data/2", {}, [7], [None], ["x" * 256], ["\x1b[31m"], ["\ud800"], ["a\nb"], ["/data"] * 9),
    "pairs.0.shorter": (*INT32, -1), "pairs.0.common_offset": OFFSET, "pairs.0.reason": TEXT,
    "healthy.run_id": TEXT, "proofs.0.name": TEXT, "proofs.0.held": BOOLEAN, "proofs.0.leader_epoch": (*INT32, -2),
    "history.doubt": TEXT, "history.offline_since": TIME, "history.last_isr": BROKERS, "history.metadata_version": (*INT32, -1),
    "history.min_insync_replicas": (*INT32, 0), "history.changes.1.timestamp": TIME,
    "healthy.append_rate": (True, "7", -1, -0.5, float("nan"), float("inf"), 10**4000, [], {}),
}  # fmt: skip


@pytest.mark.parametrize("path", [*REQUIRED, *NULLABLE])
def test_a_field_with_an_impossible_value_is_a_defect_that_names_it(path: str) -> None:
    for value in (*REQUIRED[path], None) if path in REQUIRED else NULLABLE[path]:
        found = decode(json.dumps(at(path, value)))
        assert found.defects == (f"{place(path)} is missing or has an impossible value",), ascii(value)[:80]
        assert not (found.logs or found.pairs or found.proofs or found.history)


@pytest.mark.parametrize("path", ["logs", "pairs", "proofs"])
def test_what_is_no_list_is_a_defect(path: str) -> None:
    for value in (*LIST, None, [{}] * 100_001):
        (defect,) = read(at(path, value)).defects
        assert path in defect


@pytest.mark.parametrize("path", ["logs.0", "pairs.0", "proofs.0", "history", "history.changes.0", "healthy"])
def test_what_is_no_object_is_a_defect(path: str) -> None:
    for value in ROW:
        (defect,) = read(at(path, value)).defects
        assert "is not an object" in defect


@pytest.mark.parametrize("path", ["", "logs.1.", "pairs.0.", "proofs.0.", "history.", "history.changes.0.", "healthy."])
@pytest.mark.parametrize("name", ["fenced", "Leader", "", "logs ", "\x1b[31m", "\ud800", "x" * 100_000], ids=lambda name: ascii(name[:20]))
def test_a_field_that_the_schema_does_not_know_is_a_defect(path: str, name: str) -> None:
    found = decode(json.dumps(at(path + name, None)))
    (defect,) = found.defects
    assert "does not know" in defect and ascii(name)[:20] in defect
    assert defect.isprintable() and len(defect) < 200
    assert not found.logs


# --- what a fenced broker answers ------------------------------------------------------------------------------------

# Logs: 0 is broker 1 (fenced, and answers), 1 is broker 2, 2 is broker 3.
BESIDE: Document = document(Situation("orders", {1: Log.of((150, 0), fenced=True), 2: SHORT, 3: LONG}).rows())
IMPOSSIBLE: dict[str, dict[str, int]] = {
    "negative-end": {"log_end_offset": -5}, "end-beyond-int64": {"log_end_offset": 2**63}, "negative-start": {"log_start_offset": -1},
    "negative-watermark": {"high_watermark": -2}, "written-epoch": {"last_written_epoch": -7}, "leader-epoch": {"partition_leader_epoch": 2**31},
    "broker-epoch": {"broker_epoch": -1}, "start-beyond-its-end": {"log_start_offset": 151}, "watermark-beyond-its-end": {"high_watermark": 151},
    "shorter-than-compared": {"log_end_offset": 10},
}  # fmt: skip


def answering(place: int, **numbers: int | str) -> Document:
    changed = copy.deepcopy(BESIDE)
    changed["logs"][place] |= numbers
    return changed


@pytest.mark.parametrize("state", [FENCED, COMING_BACK])
@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_answer_of_a_fenced_broker_discards_its_log_alone(case: str, state: str) -> None:
    assert len(read(BESIDE).pairs) == 3
    found = read(answering(0, broker_state=state, **IMPOSSIBLE[case]))
    assert found.defects == ()
    assert [(log.broker_id, log.error, log.log_end_offset) for log in found.logs] == [
        (1, IMPOSSIBLE_ANSWER, None), (2, None, 100), (3, None, 120),
    ]  # fmt: skip
    assert [*found.pairs] == [(2, 3)]
    decision = decide(found, Policy())
    assert (decision.reason, decision.choices) == ((None, (3,)) if state == FENCED else ("incomplete", ()))


def test_what_was_looked_for_in_a_discarded_log_is_discarded_with_it() -> None:
    situation = Situation("orders", {1: Log.of((150, 0), fenced=True), 2: SHORT, 3: LONG}, proofs=[(140, 1, True), (90, 2, True)])
    changed = copy.deepcopy(document(situation.rows()))
    assert len(read(changed).proofs) == 2
    changed["logs"][0]["high_watermark"] = 151
    found = read(changed)
    assert found.defects == () and [proof.broker_id for proof in found.proofs] == [2]


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_answer_of_a_broker_that_may_be_elected_holds_the_partition(case: str) -> None:
    found = read(answering(2, **IMPOSSIBLE[case]))
    assert found.defects and not (found.logs and found.pairs)
    assert decide(found, Policy(Strategy.AGGRESSIVE)).reason == "incomplete"


@pytest.mark.parametrize(
    "damaged", [{"log_end_offset": "7"}, {"error": 7}, {"fenced": True}, {"broker_id": -1}, {"log_end_offset": True}], ids=str
)
def test_what_no_broker_answers_is_a_defect_in_the_row_of_a_fenced_broker_too(damaged: Any) -> None:
    assert read(answering(0, **damaged)).defects
    assert read(answering(0, **{"log_start_offset": -5, **damaged})).defects


# --- what contradicts itself -------------------------------------------------------------------------------------------


def changed(path: str, **fields: Any) -> Callable[[Document], None]:
    """Set fields of one of the document's objects."""

    def apply(sound: Document) -> None:
        target: Any = sound
        for step in path.split("."):
            target = target[int(step)] if step.isdigit() else target[step]
        target.update(fields)

    return apply


def repeated(name: str) -> Callable[[Document], None]:
    return lambda sound: sound[name].append(sound[name][0])


def same_longer_log(sound: Document) -> None:
    sound["pairs"][0] |= {"relation": "same", "shorter": None}


MISFIT, NOT_HELD = "the comparison of brokers", "a committed offset that broker"
CONTRADICTIONS: dict[str, tuple[Callable[[Document], Any], str]] = {
    "no-replicas": (lambda sound: sound.update(replicas=[]), "replicas is empty"),
    "min-isr-beyond-the-replicas": (lambda sound: sound.update(min_insync_replicas=4), "min_insync_replicas is greater"),
    "start-after-end": (changed("logs.1", log_start_offset=101), "the log of broker 2 starts"),
    "watermark-after-end": (changed("logs.1", high_watermark=101), "the log of broker 2 starts"),
    "log-twice": (repeated("logs"), "two logs of one replica"),
    "foreign-log": (lambda sound: sound["logs"].append(sound["logs"][0] | {"broker_id": 7}), "outside the assignment"),
    "leader-outside": (lambda sound: sound.update(leader=9), "not one of its replicas"),
    "isr-outside": (lambda sound: sound.update(isr=[2, 9]), "isr names a broker"),
    "no-log": (lambda sound: sound["logs"].pop(0), "nothing about the log of one of its replicas"),
    "pair-of-strangers": (changed("pairs.0", broker_b=8), MISFIT),
    "pair-with-the-dead": (changed("pairs.0", broker_a=1), MISFIT),
    "pair-backwards": (changed("pairs.0", broker_a=3, broker_b=2), MISFIT),
    "pair-of-one": (changed("pairs.0", broker_b=2), MISFIT),
    "same-but-longer": (same_longer_log, MISFIT),
    "prefix-of-the-shorter": (changed("pairs.0", shorter=3), MISFIT),
    "prefix-with-less-in-common": (changed("pairs.0", common_offset=99), MISFIT),
    "prefix-of-nobody": (changed("pairs.0", shorter=None), MISFIT),
    "fork-beyond": (changed("pairs.0", relation="forked", shorter=None, common_offset=101), MISFIT),
    "fork-nowhere": (changed("pairs.0", relation="forked", shorter=None, common_offset=None), MISFIT),
    "pair-twice": (repeated("pairs"), "two comparisons of one pair"),
    "proof-of-stranger": (changed("proofs.0", broker_id=8), NOT_HELD),
    "proof-of-the-dead": (changed("proofs.0", broker_id=1), NOT_HELD),
    "proof-beyond": (changed("proofs.0", offset=101), NOT_HELD),
    "history-backwards": (changed("history.changes.0", offset=500), "a history that is not in order"),
    "healthy-watermark-beyond": (changed("healthy", high_watermark=121), "a healthy snapshot whose high watermark"),
}  # fmt: skip


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_a_contradiction_is_a_defect(case: str) -> None:
    contradict, defect = CONTRADICTIONS[case]
    damaged = copy.deepcopy(SOUND)
    contradict(damaged)
    found = read(damaged)
    assert any(defect in reported for reported in found.defects), found.defects
    assert found.state is not None and not (found.pairs or found.proofs or found.history)


@pytest.mark.parametrize("members", ["eligible_leader_replicas", "last_known_elr"])
def test_the_elr_may_name_a_broker_outside_the_assignment(members: str) -> None:
    """Kafka does not filter it when a reassignment is cancelled."""
    assert read(SOUND | {members: [9]}).defects == ()


@pytest.mark.parametrize(
    ("leader", "state", "online"), [(1, "unfenced", True), (1, FENCED, False), (1, COMING_BACK, False), (9, "unfenced", False)]
)
def test_a_leader_that_is_not_alive_or_no_replica_does_not_make_a_partition_online(leader: int, state: str, online: bool) -> None:
    found = read(SOUND | {"leader": leader, "logs": [], "pairs": [], "proofs": []})
    header = ClusterHeader({broker: Broker(broker, state if broker in (1, 9) else "unfenced", None, None) for broker in (1, 2, 3, 9)})
    decision = decide(beside_header(found, header), Policy(Strategy.AGGRESSIVE))
    assert (decision.action == Action.LEAVE, decision.reason) == ((True, None) if online else (False, "incomplete"))
    assert decide(beside_header(found, ClusterHeader()), Policy()).reason == "incomplete", "the header does not have that broker"


@pytest.mark.parametrize(
    ("brokers", "fields", "defect"),
    [
        ({1: "unfenced", 2: FENCED}, {}, None),
        ({1: "unfenced", 2: "unfenced"}, {"isr": [1], "eligible_leader_replicas": [9], "last_known_elr": [9]}, None),
        ({1: FENCED, 2: FENCED}, {}, "broker 1 is alive by its log, and not by the header"),
        ({1: COMING_BACK, 2: FENCED}, {}, "broker 1 is alive by its log, and not by the header"),
        ({1: "unfenced"}, {}, "its replica is on broker 2, which the header does not name"),
        ({1: "unfenced"}, {"isr": [2]}, "its replica is on broker 2, which the header does not name"),
    ],
    ids=str,
)
def test_survivors_and_replicas_fit_the_brokers_of_the_header(brokers: dict[int, str], fields: dict[str, Any], defect: str | None) -> None:
    """Kafka leaves brokers in the ELR that are no replicas any more, and an ISR with a live member waits for the controller: neither is a defect."""
    logs = [{**SOUND["logs"][1], "broker_id": 1}, {**SOUND["logs"][0], "broker_id": 2}]
    found = read(SOUND | {"replicas": [1, 2], "logs": logs, "pairs": [], "proofs": [], "history": None, "healthy": None} | fields)
    header = ClusterHeader({broker: Broker(broker, state, None, None) for broker, state in brokers.items()})
    assert beside_header(found, header).defects == (() if defect is None else (defect,))


def test_a_partition_with_a_leader_needs_no_logs() -> None:
    assert read(SOUND | {"leader": 1, "logs": [], "pairs": [], "proofs": []}).defects == ()


# --- lines that are no document ----------------------------------------------------------------------------------------

NO_DOCUMENT: dict[str, str | bytes] = {
    "empty": "", "text": '"orders"', "number": "7", "null": "null", "list": "[]", "cut-off": NAME, "two": NAME + "}{}", "no-topic": '{"partition":0}',
    "no-partition": '{"topic":"orders"}', "path": '{"topic":"../orders","partition":0}', "dot": '{"topic":".","partition":0}',
    "dots": '{"topic":"..","partition":0}', "line-feed": '{"topic":"orders\\n","partition":0}', "long": '{"topic":"%s","partition":0}' % ("x" * 250),
    "surrogate": '{"topic":"\\ud800","partition":0}', "lone-surrogate": '{"topic":"\ud800","partition":0}', "null-topic": '{"topic":null,"partition":0}',
    "true": '{"topic":"orders","partition":true}', "fraction": '{"topic":"orders","partition":0.0}', "negative": '{"topic":"orders","partition":-1}',
    "large": '{"topic":"orders","partition":2147483648}', "nan": '{"topic":"orders","partition":NaN}', "infinity": '{"topic":"orders","partition":-Infinity}',
    "exponent": '{"topic":"orders","partition":1e400000000}', "digits": '{"topic":"orders","partition":%s}' % ("9" * 10_000),
    "deep": NAME + ',"x":' + "[" * 100_000 + "]" * 100_000 + "}", "deep-objects": NAME + ',"x":' + '{"x":' * 50_000 + "1" + "}" * 50_000 + "}",
    "control": NAME + ',"cleanup_policy":"\x1b"}', "no-utf-8": b'{"topic":"orders\xff","partition":0}', "utf-16": (NAME + "}").encode("utf-16"),
    "utf-32": (NAME + "}").encode("utf-32"), "utf-16-le": (NAME + "}").encode("utf-16-le"), "byte-order-mark": b"\xef\xbb\xbf" + NAME.encode() + b"}",
    "bytes-of-a-surrogate": NAME.encode() + b',"cleanup_policy":"\xed\xa0\x80"}', "name-twice": NAME + ',"topic":"payments"}',
    "number-twice": NAME + ',"partition":0}', "name-twice-after-others": '{"logs":[{"error":null,"error":"x"}],' + NAME[1:] + ',"partition":1}',
}  # fmt: skip


@pytest.mark.parametrize("case", NO_DOCUMENT)
def test_a_line_that_is_no_document_is_refused(case: str) -> None:
    with pytest.raises(DocumentError) as refused:
        decode(NO_DOCUMENT[case])
    assert str(refused.value).isprintable()


TWICE = "a field stands twice"
HELD_LINES: dict[str, tuple[str, str]] = {
    "state-twice": (json.dumps(SOUND)[:-1] + ',"named":true}', TWICE),
    "field-of-a-log-twice": (json.dumps(SOUND).replace('"error":', '"error":"x","error":', 1), TWICE),
    "same-value-twice": (json.dumps(SOUND).replace('"leader": -1', '"leader":-1,"leader":-1', 1), TWICE),
    "name-of-an-inner-object-twice": (json.dumps(SOUND).replace('"error":', '"topic":"x","topic":"y","error":', 1), TWICE),
    "digits": (json.dumps(SOUND).replace('"log_end_offset": 100', '"log_end_offset":' + "9" * 6000, 1), "logs[1].log_end_offset"),
    "digits-of-an-epoch": (json.dumps(SOUND).replace('"leader_epoch": ', '"leader_epoch":-' + "1" * 6000, 1), "leader_epoch"),
}


@pytest.mark.parametrize("case", HELD_LINES)
def test_a_line_that_names_its_partition_holds_only_that(case: str) -> None:
    line, defect = HELD_LINES[case]
    found = decode(line)
    assert (found.topic, found.partition) == ("orders", 0)
    assert len(found.defects) == 1 and defect in found.defects[0]
    assert decide(found, Policy(Strategy.AGGRESSIVE)).reason == "incomplete"


# --- what is written today ---------------------------------------------------------------------------------------------


def _told(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "kind"}


def test_every_field_that_collecting_writes_is_known() -> None:
    key, batch = ("orders", 0), LastBatch(4, 4, 7, 1, 1_795_000_000_000, False)
    state = PartitionState(*key, "id", -1, 7, (1, 2, 3), (), (), (), (1,))
    pair = log_comparison.pair_row(key, 2, 3) | {"relation": "same", "common_offset": 5}
    evidence = documents.Evidence(
        [state],
        [{**_told(row), "broker_state": FENCED if row["broker_id"] == 1 else "unfenced"} for row in broker_rows(3)],
        {(key, broker): ReplicaLog(None, 0, 5, 5, 7, batch, 9, None) for broker in (2, 3)},
        [pair],
        [proof_row(("readers", key, 5, 7), 2, True)],
        [isr_history.unreadable_history_row(key, "not read")],
        [{"topic": "orders", "partition": 0, "run_id": "run-1", "topic_id": "id", **healthy(60, 5, 5, None)}],
    )
    (written,) = evidence.documents([], [])
    found = decode(json.dumps(written))
    assert found.defects == () and not found.offsets_unread
    evidence.offsets_unread.add(key)
    assert decode(json.dumps(next(evidence.documents([], [])))).offsets_unread
    assert len(found.logs) == 3 and found.history and found.healthy
    assert [*read_brokers(evidence.brokers)] == [1, 2, 3]


# --- headers -----------------------------------------------------------------------------------------------------------

HEADER: Document = {
    "kind": "header", "schema": 4, "cluster": "east", "cluster_id": "id-of-east", "run_id": "run-1", "collected_at": "2026-11-21T04:00:00Z",
    "backend": "compat", "options": {"duration": 30.0, "named": False}, "eligible_leader_replicas_version": 1, "unreachable_brokers": [3],
    "brokers": [{"broker_id": 1, "broker_state": "fenced", "silent_seconds": 12.5, "rack": None}], "absent": [{"topic": "gone", "partition": 0}],
}  # fmt: skip
WRONG_HEADERS: dict[str, tuple[Any, ...]] = {
    "collected_at": (*TEXT, None, "", "yesterday", "2026-11-21", "2026-11-21T04:00:00", "2026-11-21 04:00:00Z", "2026-02-30T04:00:00Z", "2026-11-21T24:00:00Z",
                     "2026-1-1T4:0:0Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "\uff12026-11-21T04:00:00Z", "2026-11-21T04:00:00Z\n", 7),
    "backend": (*TEXT, None, "", "carrier pigeon", []),
    "options": (7, "duration", [], {"duration": -1}, {"duration": "30"}, {"duration": 10**400}, {"named": 1}, {"duration": float("nan")}, {"strategy": "none"}),
    "eligible_leader_replicas_version": (True, -1, 2**15, 1.0, "1", [1]),
    "unreachable_brokers": (7, "3", {}, [None], [-1], [2**31], [3, 3], [True], [*range(10_001)]),
    "brokers": (None, {}, [7], [{"broker_id": 1}], [{"broker_id": True, "broker_state": "fenced"}], [{"broker_id": 1, "broker_state": "tired"}],
                [{"broker_id": 1, "broker_state": "fenced", "silent_seconds": -3}],
                [{"broker_id": 1, "broker_state": "fenced", "silent_seconds": 10**400}], [{"broker_id": 1, "broker_state": "fenced", "rack": 1}],
                [{"broker_id": 1, "broker_state": "fenced"}] * 2, [{"broker_id": 1, "broker_state": "fenced", "port": 9092}],
                [{"broker_id": number, "broker_state": "fenced"} for number in range(10_001)]),
    "absent": (None, {}, 7, ["gone"], [{"topic": "gone"}], [{"topic": "gone", "partition": -1}], [{"topic": "a/b", "partition": 0}],
               [{"topic": "..", "partition": 0}], [{"topic": "gone", "partition": True}], [{"topic": "gone", "partition": 0}] * 2,
               [{"topic": "gone", "partition": 0, "why": "deleted"}]),
}  # fmt: skip


def test_a_sound_header_says_when_the_evidence_was_collected_and_of_which_brokers() -> None:
    found = read_header(HEADER)
    assert (found.collected_at, found.eligible_leader_replicas_version, [*found.brokers]) == (1_795_233_600_000, 1, [1])
    assert (found.reorders, read_header({**HEADER, "backend": "native"}).reorders) == (True, False)
    assert read_absent(HEADER) == (("gone", 0),)
    optional = ("options", "eligible_leader_replicas_version", "unreachable_brokers", "absent")
    assert read_header({name: value for name, value in HEADER.items() if name not in optional}).elr is None


@pytest.mark.parametrize("field", WRONG_HEADERS)
def test_a_header_with_an_impossible_value_is_refused_by_the_name_of_its_field(field: str) -> None:
    for value in WRONG_HEADERS[field]:
        with pytest.raises(DocumentError, match=field):
            read_header({**HEADER, field: value})


@pytest.mark.parametrize("name", ["collected_At", "strategy", "", "\x1b[31m"], ids=ascii)
def test_a_header_with_a_field_that_the_schema_does_not_know_is_refused(name: str) -> None:
    with pytest.raises(DocumentError, match="does not know") as refused:
        read_header({**HEADER, name: 1})
    assert str(refused.value).isprintable()


# --- anything ----------------------------------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(("\ud800", 2**63, 2**31, -1, "same", 10**4000)),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(), values, max_size=4),
    max_leaves=8,
)


def decoded(line: str | bytes) -> PartitionEvidence | None:
    """What decode makes of it; None if it refuses it. Anything else that it raises fails the test."""
    try:
        return decode(line)
    except DocumentError as error:
        assert str(error).isprintable()
        return None


@settings(max_examples=300, deadline=None)
@given(number=st.integers(0, len(places(SOUND)) - 1), value=ANYTHING)
def test_any_value_in_any_place_is_decoded_or_refused(number: int, value: Any) -> None:
    damaged = copy.deepcopy(SOUND)
    container, key = places(damaged)[number]
    container[key] = value
    found = decoded(json.dumps(damaged))
    assert found is not None or (container is damaged and key in ("topic", "partition")), "only its name makes it anybody's"
    assert found is None or all(defect.isprintable() for defect in found.defects)


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_damaged_bytes_are_decoded_or_refused(seed: int) -> None:
    rng = Random(seed)
    found = decoded(damage(rng, encoded(mutate(rng, SOUND))))
    assert found is None or all(defect.isprintable() for defect in found.defects)
