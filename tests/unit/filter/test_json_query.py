# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""json_query: what the library gives, also from what Ansible makes of data; errors; the playbooks and the page that use it."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jmespath
import pytest
import yaml
from ansible.errors import AnsibleError, AnsibleFilterError, AnsibleUndefinedVariable
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from hypothesis import given
from hypothesis import strategies as st
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.filter import json_query as plugin
from ansible_collections.streamops.kafka_recovery.plugins.filter.json_query import FilterModule, json_query

pytestmark = pytest.mark.slow

FILTER = "streamops.kafka_recovery.json_query"
MODULES = "ansible_collections.streamops.kafka_recovery.plugins.modules"
PAGE = (ROOT / "docs/selecting.md").read_text()


def template(text: str, **variables: Any) -> Any:
    """Ansible's own templating of a text. The filter is given to it by name: to look for collections would change how this process imports."""
    templar = Templar(DataLoader(), variables=variables)
    templar.environment.filters[FILTER] = json_query
    return templar.template(trust_as_template(text))


def from_yaml(text: str) -> Any:
    """What Ansible reads from YAML: text that knows where it comes from, and is of no class that jmespath knows."""
    return DataLoader().load(text, file_name="/inventory/variables.yml")


def sample(module: str) -> dict[str, Any]:
    """What a module returns, as its documentation has it."""
    returned = yaml.safe_load(importlib.import_module(f"{MODULES}.{module}").RETURN)
    return {name: field["sample"] for name, field in returned.items() if "sample" in field}


# Data

OFFLINE = """
partitions:
  - {topic: orders.eu, partition: 1, isr: [], eligible_leader_replicas: [2]}
  - {topic: orders.eu, partition: 0, isr: [3], eligible_leader_replicas: []}
  - {topic: billing, partition: 0, isr: [], eligible_leader_replicas: [2]}
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("partitions[?starts_with(topic, 'orders')].partition", [1, 0]),
        ("sort_by(partitions, &topic)[0].topic", "billing"),
        ("sort(partitions[].topic)[-1]", "orders.eu"),
        ("partitions[?contains(topic, '.') && isr].join('-', [topic, to_string(partition)])", ["orders.eu-0"]),
        ("partitions[?isr == `[]`].[topic, eligible_leader_replicas[0]]", [["orders.eu", 2], ["billing", 2]]),
        ("max(partitions[].partition)", 1),
        ("type(partitions[0].topic)", "string"),
        ("partitions[?nothing == 'there']", []),
        ("nothing[].there", None),
    ],
)
def test_it_selects_from_what_ansible_reads(expression: str, expected: object) -> None:
    data = from_yaml(OFFLINE)
    assert type(data["partitions"][0]["topic"]) is not str, "or this test shows nothing"
    found = template("{{ data | " + FILTER + "(expression) }}", data=data, expression=from_yaml(f"- {expression!r}")[0])
    assert found == expected
    assert type(found) is type(expected)


def test_templates_inside_the_data_are_rendered_first() -> None:
    inner = {"partitions": [{"topic": trust_as_template("{{ tenant }}.payments"), "partition": trust_as_template("{{ 2 + 1 }}")}]}
    data = {"outer": trust_as_template("{{ inner }}")}
    expression = "outer.partitions[?starts_with(topic, 'acme')].{topic: topic, partition: partition}"
    found = template("{{ data | " + FILTER + "(expression) }}", data=data, inner=inner, tenant="acme", expression=expression)
    assert found == [{"topic": "acme.payments", "partition": 3}]


def test_what_is_selected_can_be_an_option_of_a_module_and_is_no_template() -> None:
    data = {"partitions": [{"topic": "{{ lookup('pipe', 'id') }}"}]}
    assert template("{{ data | " + FILTER + "('partitions[].topic') | first }}", data=data) == "{{ lookup('pipe', 'id') }}"


@pytest.mark.parametrize("data", ["{{ nowhere }}", "{{ {'a': nowhere} }}", "{{ [{'a': nowhere}] }}"])
def test_what_is_undefined_stays_an_error(data: str) -> None:
    with pytest.raises(AnsibleUndefinedVariable, match="'nowhere' is undefined"):
        template("{{ data | " + FILTER + "('a') }}", data=trust_as_template(data))


# The same as the library

NAMES = st.sampled_from(["topic", "partition", "isr", "loss"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from(["", "orders", "orders.eu", "3"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4) | st.tuples(inner),
    max_leaves=15,
)
LITERALS = st.sampled_from(["`0`", "`1`", "`true`", "`null`", "`[]`", "'orders'", "'3'", "@"])


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(inner, NAMES).map(".".join),
        st.tuples(inner, st.sampled_from(["[]", "[*]", ".*", "[0]", "[-1]", "[::2]", "[::0]"])).map("".join),
        pair.map(lambda both: f"{both[0]}[?{both[1]}]"),
        pair.map(lambda both: f"{both[0]} | {both[1]}"),
        pair.map(lambda both: f"({both[0]}) == ({both[1]})"),
        pair.map(lambda both: f"({both[0]}) < ({both[1]})"),
        pair.map(lambda both: f"({both[0]}) && !({both[1]})"),
        pair.map(lambda both: f"[{both[0]}, {both[1]}]"),
        pair.map(lambda both: f"{{one: {both[0]}, other: {both[1]}}}"),
        pair.map(lambda both: f"contains({both[0]}, {both[1]})"),
        pair.map(lambda both: f"sort_by({both[0]}, &{both[1]})"),
        st.tuples(st.sampled_from(["length", "keys", "sum", "max", "to_string", "type", "nope"]), inner).map(
            lambda both: f"{both[0]}({both[1]})"
        ),
    )


EXPRESSIONS = st.recursive(NAMES | LITERALS, _combined, max_leaves=5) | st.text("[]?.*'(@&|", max_size=6)


def untupled(value: Any) -> Any:
    """The data as JSON could have it."""
    if isinstance(value, dict):
        return {key: untupled(part) for key, part in value.items()}
    return [untupled(part) for part in value] if isinstance(value, (list, tuple)) else value


def tagged(value: Any) -> Any:
    """The data with Ansible's own text."""
    if isinstance(value, dict):
        return {tagged(key): tagged(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(tagged(part) for part in value)
    return trust_as_template(value) if isinstance(value, str) else value


@given(VALUES, EXPRESSIONS)
def test_it_gives_what_the_library_gives(value: Any, expression: str) -> None:
    """Also where that is an error: then it has the library's words."""
    query = FilterModule().filters()["json_query"]
    try:
        expected = jmespath.search(expression, untupled(value))
    except (ValueError, TypeError) as error:
        with pytest.raises(AnsibleFilterError) as refused:
            query(tagged(value), tagged(expression))
        assert expression in str(refused.value)
        assert str(error).splitlines()[0].split(" for value:")[0] in str(refused.value)
    else:
        found = query(tagged(value), tagged(expression))
        if "_Expression" not in repr(expected):
            assert repr(found) == repr(expected)


# Errors


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("partitions[?starts_with(topic, 'a'].topic", "Parse error at column 34"),
        ("partitions[?", "Incomplete expression"),
        ("partitions[?topic == a']", "Unclosed ' delimiter"),
        ("starts_with('a')", "Expected 2 arguments for function starts_with(), received 1"),
        ("matches(partitions)", "Unknown function: matches()"),
        ("sum(partitions)", "expected one of: ['array-number'], received: \"dict\""),
        ("partitions[?partition < 'a']", "'<' not supported"),
        ("partitions[::0]", "slice step cannot be zero"),
        ("", "cannot be empty"),
    ],
)
def test_an_error_names_the_expression_and_says_what_is_wrong_once(expression: str, words: str) -> None:
    with pytest.raises(AnsibleError) as refused:
        template("{{ data | " + FILTER + "(expression) }}", data=from_yaml(OFFLINE), expression=expression)
    said = str(refused.value)
    assert said.count(words) == 1, said
    assert expression in said


def test_an_error_of_syntax_points_at_the_place() -> None:
    with pytest.raises(AnsibleError) as refused:
        template("{{ {} | " + FILTER + "('a b') }}")
    assert str(refused.value).endswith('"a b"\n   ^')


def test_an_error_does_not_quote_all_of_the_data() -> None:
    with pytest.raises(AnsibleFilterError) as refused:
        json_query({"partitions": [{"topic": "orders", "partition": number} for number in range(10_000)]}, "abs(partitions)")
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("expression", [3, None, ["a"]])
def test_an_expression_that_is_no_text_is_refused(expression: Any) -> None:
    with pytest.raises(AnsibleFilterError, match=r"the expression must be a text, got .*[3Na]"):
        json_query({}, expression)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "JMESPATH_IMPORT_ERROR", ImportError("No module named 'jmespath'"))
    with pytest.raises(AnsibleFilterError, match=r"Failed to import the required Python library \(jmespath\)"):
        json_query({}, "a")


# What uses it


def test_its_example_shows_something() -> None:
    example = yaml.safe_load(plugin.EXAMPLES)[1]
    assert json_query(sample("kafka_partition_info"), example["vars"]["expression"]) == [{"topic": "orders", "partition": 0}]


def expressions(heading: str) -> list[str]:
    """The expressions of a section of the page."""
    section = PAGE.split(f"\n### {heading}\n")[1].split("\n### ")[0]
    block = re.search(r"```jmespath\n(.*?)```", section, re.DOTALL)
    assert block is not None, heading
    return [line for line in block[1].splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("heading", ["Results", "Plans"])
def test_what_the_page_selects_from_files_is_no_error(heading: str) -> None:
    """What it finds there is for real files to show (tests/integration/test_selecting.py)."""
    found = expressions(heading)
    assert len(found) == 5
    for expression in found:
        jmespath.compile(expression)


@pytest.mark.parametrize("module", ["kafka_partition_info", "kafka_consumer_impact_info", "kafka_partition_reassignment_info"])
def test_what_the_page_selects_from_modules_is_there(module: str) -> None:
    data = sample(module)
    if module == "kafka_partition_info":
        data["brokers"].append({"broker_id": 4, "broker_state": "coming_back"})
    if module == "kafka_consumer_impact_info":
        data["offsets"].append({**data["offsets"][0], "certain": False})
    found = expressions(module)
    assert len(found) >= 2
    for expression in found:
        selected = json_query(data, expression)
        assert selected, expression
        assert "None" not in repr(selected), f"{expression}: a field that is not there"


def plays(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The variables of an example's first play, and what it sets as facts."""
    play = DataLoader().load_from_file(str(ROOT / f"playbooks/examples/{name}.yml"), trusted_as_template=True)[0]
    facts: dict[str, Any] = {}
    for task in play["tasks"]:
        facts.update(task.get("ansible.builtin.set_fact", {}))
    return play["vars"], facts


TOPICS = st.sampled_from(["acme.orders", "acme.billing", "acmeville.orders", "orders.acme.", "__consumer_offsets", "__transaction_state"])
OFFLINE_KEYS = st.lists(st.tuples(TOPICS, st.integers(0, 3)), unique=True, max_size=12)


def selected(name: str, keys: list[tuple[str, int]], **variables: str) -> dict[str, Any]:
    """The facts that an example sets where these partitions are offline, partitions as (topic, partition)."""
    rows = [{"topic": topic, "partition": partition, "leader": -1, "isr": []} for topic, partition in keys]
    own, facts = plays(name)
    known: dict[str, Any] = {**own, **variables, "kafka_recovery_without_leader": {"partitions": rows, "count": len(rows)}}
    for fact, text in facts.items():
        known[fact] = template(text, **known)
    lists = ("kafka_recovery_partitions", "kafka_recovery_held_back")
    return {fact: [(row["topic"], row["partition"]) for row in known[fact]] if fact in lists else known[fact] for fact in facts}


@given(keys=OFFLINE_KEYS)
def test_held_and_recovered_are_all_that_is_offline(keys: list[tuple[str, int]]) -> None:
    facts = selected("hold_tenant", keys, kafka_recovery_tenant_prefix="acme.")
    held, recovered = facts["kafka_recovery_held_back"], facts["kafka_recovery_partitions"]
    assert sorted(held + recovered) == sorted(keys)
    assert {topic for topic, _ in held} <= {"acme.orders", "acme.billing", "__transaction_state"}
    assert not {topic for topic, _ in recovered} & {"acme.orders", "acme.billing", "__transaction_state"}
    assert facts["kafka_recovery_leave_alone"] is (recovered == [])


@given(keys=OFFLINE_KEYS)
def test_only_what_matches_is_recovered(keys: list[tuple[str, int]]) -> None:
    condition = "ends_with(topic, '.orders') || !isr && partition == `3`"
    facts = selected("recover_matching_topics", keys, kafka_recovery_matching=condition)
    expected = [(topic, part) for topic, part in keys if topic != "__transaction_state" and (topic.endswith(".orders") or part == 3)]
    assert facts["kafka_recovery_partitions"] == expected
    assert facts["kafka_recovery_leave_alone"] is (expected == [])


@pytest.mark.parametrize("name", ["hold_tenant", "recover_matching_topics"])
def test_the_examples_end_in_the_playbook_of_the_collection(name: str) -> None:
    first, last = yaml.safe_load((ROOT / f"playbooks/examples/{name}.yml").read_text())
    assert first["hosts"] == "kafka_clusters" and first["connection"] == "local" and first["gather_facts"] is False
    assert first["module_defaults"] == {"group/streamops.kafka_recovery.kafka": "{{ kafka_recovery_connection }}"}
    assert last["ansible.builtin.import_playbook"] == "streamops.kafka_recovery.recover"
    assert last.keys() == {"name", "ansible.builtin.import_playbook"}, (
        "a condition there is asked of one host for tasks that run once for all"
    )


GIVEN: dict[str, dict[str, Any]] = {
    "hold_tenant": {"kafka_recovery_tenant_prefix": "acme."},
    "recover_matching_topics": {"kafka_recovery_matching": "starts_with(topic, 'orders.')"},
}
ONE = [{"topic": "orders.eu", "partition": 0}]
REFUSED: dict[str, dict[str, dict[str, Any]]] = {
    "hold_tenant": {
        "nobody": {"kafka_recovery_tenant_prefix": ""},
        "quoted": {"kafka_recovery_tenant_prefix": "acme') || starts_with(topic, '"},
        "aggressive": {"kafka_recovery_strategy": "aggressive"},
    },
    "recover_matching_topics": {"nothing": {"kafka_recovery_matching": " "}},
}


@pytest.mark.parametrize("name", ["hold_tenant", "recover_matching_topics"])
def test_the_examples_ask_no_cluster_before_they_know_what_is_meant(tmp_path: Path, name: str) -> None:
    """A host for each way to be refused, and one that is let through, which then connects to a broker that does not exist."""
    ways = {
        **REFUSED[name],
        "named": {"kafka_recovery_partitions": ONE},
        "file": {"kafka_recovery_partitions_file": "/wanted.json"},
        "meant": {},
    }
    hosts = {host: {**GIVEN[name], **own} for host, own in ways.items()}
    connection = {"kafka_bootstrap_servers": "127.0.0.1:1", "kafka_request_timeout": 0.1}
    (tmp_path / "inventory.yml").write_text(yaml.safe_dump({"kafka_clusters": {"vars": connection, "hosts": hosts}}))
    played = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), f"streamops.kafka_recovery.examples.{name}", "-i", "inventory.yml"],
        cwd=tmp_path,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache/collections"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = played.stdout + played.stderr
    refused, asked = said.split("TASK [Find every partition without a live leader]")
    assert {host for host in hosts if f"fatal: [{host}]" in refused} == hosts.keys() - {"meant"}, said
    assert {host for host in hosts if f"fatal: [{host}]" in asked} == {"meant"}, said
    assert "no bootstrap server answered" in asked, said
    assert "leave kafka_recovery_partitions" in refused, said
    assert "Recover partitions without a live leader" not in said, "the playbook recover is not begun"
