# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lost brokers by cluster: two real clusters that have lost different brokers, in one run, and what a wrong list stops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from integration.damaged import PROPERTIES
from integration.support import Operator, Played

from rig import Damage, KafkaCluster, Roles
from rig.fleet import host_vars, inventory, write_inventory

TOPIC, PARTITIONS = "orders", 4
# Each lost id lives in the other cluster.
ROLES = {"west": Roles((1,), ahead=2, behind=3, returning=None), "south": Roles((2,), ahead=1, behind=3, returning=None)}
LOST = {name: list(roles.lost) for name, roles in ROLES.items()}


@pytest.fixture
def both(west: Operator) -> Iterator[dict[str, Operator]]:
    """The clusters west and south, which share a workdir. Each has lost the leaders of TOPIC with a broker of its own."""
    with KafkaCluster("south", brokers=3, session_timeout=5, heap="200m", properties=PROPERTIES) as south:
        operators = {"west": west, "south": Operator(south, west.workdir, west.spark_remote)}
        for name, operator in operators.items():
            damage = Damage(operator.cluster, ROLES[name])
            damage.add("lagging", PARTITIONS, TOPIC)
            damage.inflict()
        yield operators
    west.cluster.heal()


@pytest.mark.long
def test_each_cluster_is_judged_by_its_own_lost_brokers_from_the_first_check_to_the_last_move(both: dict[str, Operator]) -> None:
    west, south = both["west"], both["south"]

    def recover(run_id: str, own: Mapping[str, Any] | None = None, **variables: Any) -> Played:
        """Recover both clusters with two replicas each. `own`: lost brokers as variables of the hosts."""
        hosts = {
            name: host_vars(operator.cluster) | ({"kafka_recovery_lost_brokers": own[name]} if own else {})
            for name, operator in both.items()
        }
        write_inventory(west.workdir / "inventory.yml", inventory(hosts))
        options = {"allow_data_loss": True, "strategy": "aggressive", "restore_redundancy": True, "replication_factor": 2}
        return west.play("recover", run_id, inventory_file=west.workdir / "inventory.yml", **options, **variables)

    wrong = recover("unknown", lost_brokers={"west": LOST["west"], "souht": LOST["south"]})
    assert "kafka_recovery_lost_brokers names an unknown cluster, souht: did you mean south?" in wrong.said, wrong
    assert wrong.returncode != 0 and not (west.workdir / "landing").exists(), "no broker was asked"

    # One list for both clusters: broker 1 is lost in west and lives in south.
    before = south.states(TOPIC)
    shared = recover("shared", lost_brokers=LOST["west"])
    assert shared.returncode != 0 and {name: shared.recap[name]["failed"] for name in both} == {"south": 1, "west": 0}, shared
    assert "broker 1 is named in lost_brokers, but it is not fenced" in shared.said, shared
    assert south.states(TOPIC) == before and whole(west), shared

    # Each host has its own variable. West has nothing left to do.
    done = recover("own", own=LOST)
    assert done.returncode == 0 and whole(south), done

    again = recover("mapping", lost_brokers=LOST)
    assert again.returncode == 0 and {row["changed"] for row in again.recap.values()} == {0}, again


def whole(operator: Operator) -> bool:
    """Two replicas of each partition, in sync, none of them on a lost broker."""
    lost = set(LOST[operator.name])
    return all(len(state.replicas) == len(state.isr) == 2 and lost.isdisjoint(state.replicas) for state in operator.states(TOPIC).values())


def test_an_unknown_cluster_stops_every_playbook_before_a_broker_is_asked(west: Operator) -> None:
    for playbook in ("plan", "reassign"):
        played = west.play(playbook, "1", lost_brokers={"wset": [1]})
        assert played.returncode != 0, played
        assert "kafka_recovery_lost_brokers names an unknown cluster, wset: did you mean west?" in played.said, played
        assert not any(west.workdir.glob("l*/1"))


ALIVE, UNKNOWN = "broker 1 is named in lost_brokers, but it is not fenced", "it is not a broker of this cluster"


@pytest.mark.parametrize(
    ("lost", "allow_data_loss", "objection"),
    [
        (1, True, ALIVE),
        (99, False, UNKNOWN),
        pytest.param(1, False, ALIVE, marks=pytest.mark.long),
        pytest.param(99, True, UNKNOWN, marks=pytest.mark.long),
    ],
)
def test_reassign_judges_lost_brokers_before_it_plans_anything(west: Operator, lost: int, allow_data_loss: bool, objection: str) -> None:
    played = west.play("reassign", "1", lost_brokers=[lost], allow_data_loss=allow_data_loss)
    assert played.returncode != 0 and objection in played.said, played
    assert not (west.workdir / "layout").exists()
