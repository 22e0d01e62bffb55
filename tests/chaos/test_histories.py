"""Histories are drawn from their seeds alone, and every one of them can happen."""

from __future__ import annotations

from random import Random

from chaos.faults import FAULTS, CleanLeaderReturns
from chaos.history import BROKERS, GROUPS, TWIN, draw
from chaos.run import draw_faults, draw_playbook

SCRIPTS = [draw(seed) for seed in range(200)]


def test_the_same_seed_gives_the_same_history() -> None:
    assert [draw(script.seed) for script in SCRIPTS] == SCRIPTS


def test_no_missing_actor_acts() -> None:
    for script in SCRIPTS:
        up = set(BROKERS)
        for step in script.steps:
            if step.what == "back":
                assert step.broker not in up, script
                up.add(step.broker)
            elif step.broker:
                assert {step.broker, step.other or step.broker} <= up, script
                if step.what != "disk":
                    up -= {step.broker, step.other if step.what == "usurped" else step.broker}
        assert up == set(BROKERS) - set(script.dead), script
        assert up >= set(script.survivors), script


def test_twins_get_what_their_originals_get() -> None:
    for script in SCRIPTS:
        for step in script.steps:
            for (topic, number), amount in step.amounts.items():
                assert step.amounts[topic.removesuffix(TWIN), number] == amount, script


def test_every_shape_and_every_step_comes_up() -> None:
    assert {script.shape for script in SCRIPTS} == {"walk", "fork", "figure 8"}
    steps = {step.what for script in SCRIPTS for step in script.steps}
    assert steps == {"write", "kill", "terminate", "stop", "alone", "carried", "usurped", "back", "read", "disk", "controller"}
    assert {step.unflushed for script in SCRIPTS for step in script.steps} == {False, True}


def test_a_playbook_is_disturbed_only_by_faults_that_need_no_watcher() -> None:
    groups = set()
    for script in SCRIPTS:
        random = Random(script.seed)
        faults = draw_faults(random, script)
        assert len(faults) == GROUPS and (script.lost in script.dead or CleanLeaderReturns.name not in faults)
        group = draw_playbook(random, faults)
        assert group is None or FAULTS[faults[group]].unwatched
        groups.add(group)
    assert groups == {None, *range(GROUPS)}


def test_a_fork_is_led_by_the_broker_that_makes_it() -> None:
    """Most of its partitions with min.insync.replicas 2: there the ISR history shows which branch was committed."""
    forks = [script for script in SCRIPTS if script.shape == "fork"]
    leaders = [
        order[0] == next(step.broker for step in script.steps if step.what == "alone")
        for script in forks
        for topic in script.topics
        if topic.name.endswith("-isr2")
        for order in topic.assignments
    ]
    assert len(forks) > 50 and sum(leaders) > 0.7 * len(leaders)
