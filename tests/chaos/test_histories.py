"""Histories are drawn from their seeds alone, and every one of them can happen."""

from __future__ import annotations

from chaos.history import BROKERS, TWIN, draw

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
