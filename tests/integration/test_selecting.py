# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks of docs/selecting.md on a real cluster: what is recovered, and that nothing is where nothing was selected. Its expressions on real files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from integration.requestlog import RequestLog
from integration.support import CHECKOUT, Operator, outcomes

from ansible_collections.streamops.kafka_recovery.plugins.filter.json_query import json_query
from rig import Damage, Roles
from rig.fleet import host_vars, inventory, write_inventory

MATCHING, HOLDING = "examples.recover_matching_topics", "examples.hold_tenant"
TENANT = ["acme.billing", "acme.orders"]


@pytest.fixture
def damaged(west: Operator) -> Operator:
    """A tenant acme, orders of two countries, and a name that only looks like the tenant's: four partitions each, all of them offline."""
    damage = Damage(west.cluster, Roles(returning=None))
    for topic in [*TENANT, "acmeville.orders", "orders.eu", "orders.us"]:
        damage.add("lagging", 4, topic)
    damage.inflict()
    return west


def led(operator: Operator) -> set[str]:
    """Topics of which every partition has a leader. None has leaders for some only."""
    states = operator.cluster.describe()
    led_ones, others = {state.topic for state in states if state.leader >= 0}, {state.topic for state in states if state.leader < 0}
    assert not led_ones & others
    return led_ones


def test_what_is_not_meant_is_left_alone_cluster_by_cluster(damaged: Operator) -> None:
    """The one cluster under several names, each with a condition of its own. Nothing matches in the first, on which Ansible runs what it runs once."""
    connection = host_vars(damaged.cluster)
    conditions = {
        "nothing": "starts_with(topic, 'orders.') && leader == `3`",
        "broken": "starts_with(topic, 'orders.'",
        "misspelt": "starts_with(topics, 'orders.')",
        "west": "starts_with(topic, 'orders.')",
    }
    file = damaged.workdir / "inventory.yml"
    write_inventory(file, inventory({name: {**connection, "kafka_recovery_matching": text} for name, text in conditions.items()}))
    played = damaged.play(MATCHING, "1", inventory_file=file, allow_data_loss=True)
    assert played.returncode != 0, "two conditions are none"
    failed = {name for name, counters in played.recap.items() if counters["failed"]}
    assert failed == {"broken", "misspelt"}, played
    assert "Invalid jmespath expression" in played.said or "Parse error at column" in played.said, played
    assert "Nothing to recover: nothing is skipped" in played.stdout, played
    assert "8 of 20 partitions without a live leader match" in played.stdout, played
    assert "To recover: orders.eu 0, 1, 2, 3" in played.stdout, played
    assert led(damaged) == {"orders.eu", "orders.us"}
    assert outcomes(damaged.read("results", "1")["partitions"]) == {"orders.eu": {"elected"}, "orders.us": {"elected"}}
    assert [path.name for path in (damaged.workdir / "results" / "1").iterdir()] == ["west.json"]
    assert played.recap["nothing"]["changed"] == 0 and played.recap["west"]["changed"] == 1


@pytest.mark.long
def test_a_tenant_is_held_and_everything_else_is_recovered_once(damaged: Operator) -> None:
    before, log = damaged.states(*TENANT), RequestLog(damaged.cluster)
    misspelt = damaged.play(HOLDING, "misspelt", allow_data_loss=True, tenant_prefix="acne.")
    assert misspelt.returncode != 0
    assert "begins with acne." in misspelt.said, misspelt
    assert log.written() == {}

    forecast = damaged.play(HOLDING, "forecast", "--check", "--diff", allow_data_loss=True, tenant_prefix="acme.")
    assert forecast.returncode == 0, forecast
    assert "12 elected" in forecast.stdout, forecast
    assert log.written() == {}

    held = damaged.play(HOLDING, "held", allow_data_loss=True, tenant_prefix="acme.")
    assert held.returncode == 0, held
    for topic in TENANT:
        assert f"Held: {topic} 0, 1, 2, 3" in held.stdout, held
    assert outcomes(damaged.read("results", "held")["partitions"]).keys() == {"acmeville.orders", "orders.eu", "orders.us"}
    assert led(damaged) == {"acmeville.orders", "orders.eu", "orders.us"}
    assert damaged.states(*TENANT) == before

    log = RequestLog(damaged.cluster)
    again = damaged.play(HOLDING, "again", allow_data_loss=True, tenant_prefix="acme.")
    assert again.returncode == 0, again
    assert "Nothing else to recover: west is skipped" in again.stdout, again
    assert again.recap["west"]["changed"] == 0
    assert log.written() == {}
    assert not damaged.path("results", "again").exists()

    none = damaged.play(MATCHING, "none", allow_data_loss=True, matching="starts_with(topic, 'orders.')")
    assert none.returncode == 0, "what matched is recovered already"
    assert "0 of 8 partitions without a live leader match" in none.stdout, none
    assert damaged.states(*TENANT) == before


def expressions(heading: str) -> list[str]:
    """The expressions of a section of the page."""
    section = (CHECKOUT / "docs/selecting.md").read_text().split(f"\n### {heading}\n")[1].split("\n### ")[0]
    return [line for line in section.split("```jmespath\n")[1].split("```")[0].splitlines() if line and not line.startswith("#")]


def fields(value: Any) -> Iterator[str]:
    """All keys of a document."""
    if isinstance(value, dict):
        yield from value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from fields(part)


@pytest.mark.parametrize(("heading", "kind"), [("Results", "results"), pytest.param("Plans", "plans", marks=pytest.mark.long)])
def test_the_page_selects_from_what_a_run_leaves(east: Operator, heading: str, kind: str) -> None:
    topics = ["lagging.none", "forked.none", "no_survivor.none"]
    east.snapshot_and_plan("1", topics)
    east.apply("1", allow_data_loss=False)
    document = east.read(kind, "1")
    known = set(fields(document))
    found = {}
    for expression in expressions(heading):
        asked = re.findall(r"\b[A-Za-z_]+\b(?![:(\w])", re.sub(r"'[^']*'|`[^`]*`", "", expression))
        assert asked and set(asked) <= known, f"{expression}: {set(asked) - known} is no field of {kind}"
        found[expression] = json_query(document, expression)
    first, second = list(found.values())[:2]
    if kind == "results":
        assert sorted(first) == sorted(f"{topic}-{partition}" for topic, partition in east.keys(topics))
        assert {row["topic"] for row in second} == {"forked.none"}
        assert list(found.values())[-1] == 12
    else:
        # What a killed broker remembers of its high watermark can prove one branch.
        assert {row["reason_code"] for row in first if row["topic"] == "forked.none"} <= {"forked", "forked_proven"}
        assert {topic for topic, _ in second} == {"no_survivor.none"}
        assert list(found.values())[-1] == 4, "of lagging.none"
