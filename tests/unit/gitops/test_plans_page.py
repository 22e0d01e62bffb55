# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary of a recovery, which reviewers read before they merge it."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from markdown_it import MarkdownIt
from plan_samples import ELECTED, HELD, content

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.next_steps import STEPS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import PLANS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.plans_page import (
    MAX_HELD,
    MAX_NAMED,
    MAX_PARTITIONS,
    MAX_ROWS_OF_TOPIC,
    MAX_TOPICS,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.proposals import summary


def plan(cluster: str = "east", **sections: Any) -> dict[str, Any]:
    """A valid plan."""
    made = {**content(), "cluster": cluster, **copy.deepcopy(sections)}
    return {**made, "sha256": plan_file.sha256(made)}


def page(*plans: dict[str, Any]) -> str:
    return summary({PLANS: plans}, "r1").decode()


def test_it_says_who_is_elected_on_which_evidence_and_what_that_costs() -> None:
    made = plan()
    shown = page(made)
    assert "**Merging this approves the election of 1 partition in 1 cluster.** 1 partition is held and stays" in shown
    row = next(line for line in shown.splitlines() if line.startswith("| `orders-0`"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == ["`orders-0`", "2", "prefix", "broker 2 to 121, epoch 1; broker 3 to 100, epoch unknown", "0", "unknown",
                     "broker 3: from where is not known"]  # fmt: skip
    assert made["plan_id"] in shown and made["sha256"] in shown and "`balanced`" in shown
    assert "Brokers that are not there: 1 (fenced)." in shown
    assert "streamops.kafka_recovery.apply_merged" in shown
    assert "Truncated from survivors: an unknown number on 1 replica" in re.sub(r"\\(.)", r"\1", shown)


def test_held_partitions_have_the_next_step_and_the_command_of_the_report() -> None:
    shown = page(plan())
    assert "#### Forked: 1 partition" in shown
    step = STEPS["forked"].format(plan="plans/east.json")
    assert step in re.sub(r"\\(.)", r"\1", shown)
    named = f"-e '{{kafka_recovery_partitions: [{{topic: {HELD['topic']}, partition: {HELD['partition']}}}]}}' -e kafka_recovery_strategy=aggressive"
    assert f"ansible-playbook -i INVENTORY --limit east {named} streamops.kafka_recovery.propose" in shown
    assert "allow_data_loss" not in shown.partition("## Cluster")[2], "a summary proposes, it elects nothing"


def test_every_reason_code_there_is_has_a_next_step() -> None:
    for reason_code in STEPS:
        shown = page(plan(held=[{**HELD, "reason_code": reason_code}]))
        assert "Next: " in shown


def test_it_is_the_same_for_the_same_plan_whatever_the_order_of_its_entries() -> None:
    rows = [{**ELECTED, "topic": topic, "partition": number} for topic in ("a", "b") for number in range(3)]
    one = plan(partitions=rows)
    assert page(one) == page(copy.deepcopy(one))
    other = {**one, "partitions": rows[::-1]}
    assert page(one) == page(other)


def test_it_shows_the_strategies_of_single_topics_and_the_ranking() -> None:
    own = [{"topic": "audit", "strategy": "none"}, {"topic": "orders", "strategy": "aggressive"}]
    shown = page(plan(topic_strategies=own, ranking="kip1275"))
    assert "**Strategies of single topics, in the place of `balanced`:** aggressive: 1, none: 1." in shown
    assert shown.index("| `orders` | `aggressive` |") < shown.index("| `audit` | `none` |")
    assert "| ranking | `kip1275` |" in shown
    assert "Strategies of single topics" not in page(plan())


def test_it_says_that_aggressive_must_be_allowed_where_it_is_applied() -> None:
    for risky in (plan(strategy="aggressive"), plan(topic_strategies=[{"topic": "orders", "strategy": "aggressive"}])):
        assert "kafka_recovery_allowed_strategies" in page(risky)
    assert "kafka_recovery_allowed_strategies" not in page(plan(strategy="balanced"))


def test_it_says_that_another_ranking_must_be_allowed_where_it_is_applied() -> None:
    assert "**It is applied only where `kafka_recovery_allowed_rankings` has `kip1275`.**" in page(plan(ranking="kip1275"))
    assert "kafka_recovery_allowed_rankings" not in page(plan(ranking="last_written_epoch"))


def test_of_many_strategies_of_single_topics_it_shows_the_dangerous_ones() -> None:
    own = [{"topic": f"t{number:03}", "strategy": "aggressive" if number == 99 else "none"} for number in range(100)]
    shown = page(plan(topic_strategies=own))
    assert "| `t099` | `aggressive` |" in shown
    assert f"and {100 - MAX_TOPICS} more topics in [plans/east.json]" in shown


def test_it_shows_which_partitions_the_operator_named() -> None:
    rows = [{**ELECTED, "partition": number, "named": number > 0} for number in range(3)]
    assert "**Named by the operator: 2 of 3 partitions:** `orders-1`, `orders-2`." in page(plan(partitions=rows))
    assert "Named by the operator" not in page(plan())
    many = [{**ELECTED, "partition": number, "named": True} for number in range(MAX_NAMED + 30)]
    assert f"`orders-{MAX_NAMED - 1}`, and 30 more." in page(plan(partitions=many))


@pytest.mark.slow
def test_thousands_of_partitions_stay_readable_and_it_says_how_many_more_there_are() -> None:
    rows = [{**ELECTED, "topic": f"t{topic:03}", "partition": number} for topic in range(100) for number in range(40)]
    held = [{**HELD, "topic": f"h{number}", "partition": 0} for number in range(1000)]
    large = plan(partitions=rows, held=held)
    shown = page(large)
    assert len(shown) < 60_000
    assert f"and {100 - MAX_TOPICS} more topics in [plans/east.json](plans/east.json)" in shown
    assert f"and {4000 - MAX_PARTITIONS:,} more partitions in" in shown
    assert f"and {1000 - MAX_HELD} more partitions in" in shown
    assert len(re.findall(r"(?m)^\| `t000-", shown)) == MAX_ROWS_OF_TOPIC
    fleet = page(*({**large, "cluster": f"c{number}"} for number in range(20)))
    assert len(fleet) < 20 * 25_000


def test_hostile_texts_of_a_plan_make_no_markup() -> None:
    hostile = "</td><script>alert(1)</script> [x](http://evil.example.com) | @ada\n# Approved"
    own = [{"topic": hostile, "strategy": hostile}]
    shown = page(
        plan(held=[{**HELD, "explanation": hostile, "evidence": hostile, "reason_code": hostile}], online=[], topic_strategies=own)
    )
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(shown):
        assert token.type != "html_block"
        for child in token.children or ():
            assert child.type != "html_inline" or child.content == "<!-- -->"
            assert child.type != "link_open" or child.attrs["href"] == "plans/east.json"


def test_a_plan_that_elects_nothing_says_so() -> None:
    shown = page(plan(partitions=[]), plan("west", held=[]))
    assert "### To be elected: nothing" in shown
    assert "## Cluster `west`" in shown
    assert "the election of 1 partition in 2 clusters" in shown
