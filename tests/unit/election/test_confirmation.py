# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run elects what the operator has confirmed by number, or nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from collected_evidence import found_again
from offline_group_offsets import OFFSETS, Described, survivor

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.apply import Recovery
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.confirmation import Confirmation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.blast_radius import BlastRadiusLimits


def losses(*bounds: int | None) -> list[dict[str, Any]]:
    return [{"upper_bound": bound} for bound in bounds]


@pytest.mark.parametrize(
    ("text", "elect", "lose"),
    [("elect 8", 8, None), (" elect 8, lose at most 240 ", 8, 240), ("elect 1,200, lose at most 0", 1200, 0), ("elect 0", 0, None)],
)
def test_a_confirmation_has_the_partitions_and_may_have_the_loss(text: str, elect: int, lose: int | None) -> None:
    assert Confirmation.parse(text)[1:] == (elect, lose)


@pytest.mark.parametrize(
    "text",
    ["8", "elect eight", "elect -8", "elect 8 lose 3", "elect 8, lose at most", "elect 8\nelect 9", "elect " + 40 * "9", "elect", "yes"],
)
def test_another_text_is_refused_with_an_example(text: str) -> None:
    like = r"kafka_recovery_confirm.*must be like .elect 8. or .elect 8, lose at most 240..*-e .\{kafka_recovery_confirm: .elect 8.\}"
    with pytest.raises(RecoveryError, match=like):
        Confirmation.parse(text)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [("elect 2", [3, None]), ("elect 2, lose at most 7", [3, 4]), ("elect 2, lose at most 8", [3, 4]), ("elect 0, lose at most 0", [])],
)
def test_what_was_confirmed_may_be_elected(text: str, bounds: list[int | None]) -> None:
    Confirmation.parse(text).check(losses(*bounds))


@pytest.mark.parametrize(
    ("text", "bounds", "said"),
    [
        ("elect 3", [3, None], "would elect 2; no upper bound of the loss is known. Nothing"),
        ("elect 2", [3], "would elect 1; it may lose 3 committed records"),
        ("elect 2", [3, 4, 5], "would elect 3; it may lose 12 committed records"),
        ("elect 2, lose at most 6", [3, 4], "would elect 2; it may lose 7 committed records"),
        ("elect 2, lose at most 9", [3, None], "would elect 2; no upper bound of the loss is known, so leave .lose at most. out"),
    ],
)
def test_anything_else_is_refused(text: str, bounds: list[int | None], said: str) -> None:
    with pytest.raises(RecoveryError, match=said):
        Confirmation.parse(text).check(losses(*bounds))


def test_the_loss_of_a_leader_that_was_designated_by_hand_is_not_known() -> None:
    with pytest.raises(RecoveryError, match="no upper bound"):
        Confirmation.parse("elect 1, lose at most 9").check([None])


@pytest.mark.parametrize("elect", [1, 2])
def test_what_a_dry_run_says_is_what_can_be_confirmed(tmp_path: Path, elect: int) -> None:
    """One of two partitions of the plan is online since."""

    def recovery() -> Recovery:
        found = Recovery(Described(), name="east", run_id="1", workdir=tmp_path, duration=1.0, attempts=1, data_loss_allowed=True)  # type: ignore[arg-type]
        survivors = {2: (0, 121), 3: (0, 100)}
        offline = Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), survivors, "prefix", "balanced")
        online = Entry("t", 2, 3, (3, 2, 1), "id", 1, (3, 1, 2), survivors, "prefix", "balanced")
        found._entries = [found_again(offline), found_again(online)]
        return found

    dry_run, real = recovery(), recovery()
    dry_run.predict()
    assert dry_run.results.summary()["elected"] == 1
    confirmation = Confirmation.parse(f"elect {elect}")
    if elect == 1:
        real.require(confirmation)
        return
    with pytest.raises(RecoveryError, match="would elect 1"):
        real.require(confirmation)


SURVIVORS = {2: (0, 121), 3: (0, 100)}


@pytest.mark.parametrize("why", ["no second broker", "move", "silent survivor"])
def test_no_more_is_elected_than_was_confirmed(tmp_path: Path, why: str) -> None:
    """What would not be elected while elections are counted, and could be when they begin, is not elected."""
    cluster = Described()
    recovery = Recovery(cluster, name="east", run_id="1", workdir=tmp_path, duration=3.0, attempts=1, save_records=False)  # type: ignore[arg-type]
    costly = Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), SURVIVORS, "prefix", "balanced")
    cheap = Entry("t", 1, 2, (2, 3, 1), "id", 1, (1, 2, 3), SURVIVORS, "prefix", "balanced")
    recovery._entries = [
        replace(found_again(costly), loss={"lower_bound": 900, "upper_bound": 1000}),
        replace(found_again(cheap), loss={"lower_bound": 0, "upper_bound": 0}),
    ]
    log_ends = cluster.log_ends
    if why == "no second broker":
        cluster.alone = True
    elif why == "move":
        cluster.moves.add(("t", 0))
    else:
        cluster.log_ends = lambda work: {  # type: ignore[method-assign]
            broker: {key: row for key, row in rows.items() if broker != 3 or key != ("t", 0)} for broker, rows in log_ends(work).items()
        }
    recovery.keep_within(BlastRadiusLimits())
    recovery.require(Confirmation.parse("elect 1, lose at most 0"))
    cluster.alone = False
    cluster.moves.clear()
    cluster.log_ends = log_ends  # type: ignore[method-assign]
    recovery.elect()
    assert [row.partition for row in recovery.results.rows if row.outcome == "elected"] == [1]
    assert len(recovery.results.rows) == 2


class OtherStateLater(Described):
    """A cluster of which a broker states another ELR of t-0 once `__consumer_offsets` has a leader."""

    def __init__(self) -> None:
        super().__init__()
        self.states[OFFSETS] = replace(
            self.states.pop(("t", 1)), topic=OFFSETS[0], partition=0, replicas=(1, 2, 3), eligible_leader_replicas=(2,)
        )
        self.states[("t", 0)] = replace(self.states[("t", 0)], eligible_leader_replicas=(2,))

    def _lead(self, key: TopicPartition, leader: int) -> None:
        super()._lead(key, leader)
        self.states[("t", 0)] = replace(self.states[("t", 0)], eligible_leader_replicas=())


def test_no_more_is_lost_than_was_confirmed_if_evidence_is_read_again(tmp_path: Path) -> None:
    cluster = OtherStateLater()
    recovery = Recovery(cluster, name="east", run_id="1", workdir=tmp_path, duration=2.0, attempts=1)  # type: ignore[arg-type]
    state = {"isr": [], "eligible_leader_replicas": [2], "last_known_elr": [], "named": True, "unclean_leader_election_enable": None}
    rows = [
        {
            "topic": topic, "partition": 0, "designatedLeader": 2, "replicas_best_first": [2, 3, 1], "evidence": "prefix", **state,
            "guards": {"topic_id": "id", "leader_epoch": 1, "replicas": replicas, "survivors": [survivor(2, 0, 121), survivor(3, 0, 100)]},
        }
        for topic, replicas in (("t", [1, 3, 2]), (OFFSETS[0], [1, 2, 3]))
    ]  # fmt: skip
    plan = {
        "cluster": "east", "cluster_id": "abc", "plan_id": "p", "strategy": "aggressive", "ranking": "last_written_epoch",
        "topic_strategies": [], "partitions": rows, "brokers": [], "held": [], "online": [],
    }  # fmt: skip
    recovery.take_plan(plan, "plan.json")
    recovery.collect_again(Connection(("localhost:9092",)))
    recovery.require(Confirmation.parse("elect 2, lose at most 0"))
    recovery.elect()
    found = {row.topic: row for row in recovery.results.rows}
    assert found[OFFSETS[0]].outcome == "elected"
    assert (found["t"].outcome, found["t"].reason_code) == ("held", "limit_reached") and "confirmed" in str(found["t"].reason)


@pytest.mark.parametrize("number", ["1,2", "1,0000", "1,,,,", "12,34,567", ",1"])
def test_a_number_with_commas_at_odd_places_is_refused(number: str) -> None:
    for text in (f"elect {number}", f"elect 1, lose at most {number}"):
        with pytest.raises(RecoveryError, match="must be like"):
            Confirmation.parse(text)
