# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of variables: judged by the documentation of the roles, with the remedy."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.filter.core import to_bool

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.documented_variables import role_options
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.variable_values import (
    conflicts,
    unnamed_revivals,
    value_problems,
)

ACCEPTED = ["true", "false", "yes", "no", "on", "off", "1", "0"]
# All spellings that the filter `bool` or `boolean()`, by which modules read an option, takes for true or false.
SPELLINGS = [*ACCEPTED, "y", "n", "t", "f"]
EXAMPLE = """-e '{"kafka_recovery_partitions": [{"topic": "orders", "partition": 0}]}'"""


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("strategy", "agressive", "is agressive: it must be one of none, balanced, kip966_balanced, aggressive; did you mean aggressive?"),
        ("backend", "fast", "it must be one of auto, compat, native"),
        ("duration", "soon", "is soon: it must be a number (float)"),
        ("duration", 0, "is 0: it must be more than 0"),
        ("duration", float("nan"), "it must be more than 0"),
        ("max_partitions", "many", "it must be a whole number (int)"),
        ("election_attempts", -1, "is -1: it must be 0 or more"),
        ("quorum_window", -1, "it must be 0 or more"),
        ("git_timeout", 0, "it must be more than 0"),
        ("throttle", 100, "is 100: it is bytes per second, at least 1024"),
        ("throttle", "fast", "is fast: it is bytes per second, at least 1024"),
        ("reassignment_duration", "long", "it must be a number"),
        ("allow_data_loss", "maybe", "is maybe: it must be one of true, false, yes, no, on, off, 1, 0"),
        ("what_if_brokers", "two", "is two: it must be a list of int, for example -e "),
        ("partitions", "orders-0", f"is orders-0: it must be a list with topic and partition in each entry, for example {EXAMPLE}"),
        ("partitions", '[{"topic": "orders", "partition": 0}]', EXAMPLE),
        ("partitions", [{"name": "orders", "partition": 0}], "has name in entry 1"),
        ("partitions", [{"topic": "orders", "partition": 0}, {"topic": "orders"}], "has no partition in entry 2"),
        ("partitions", [{"topic": "orders", "partition": "x"}], 'has {"topic": "orders", "partition": "x"} as entry 1'),
        ("partitions", ["orders-0"], "has orders-0 as entry 1"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_what_it_has_to_be(name: str, value: Any, expected: str) -> None:
    (text,) = value_problems(role_options(), {f"kafka_recovery_{name}": value})
    assert text.startswith(f"kafka_recovery_{name} ") and expected in text
    assert "\n" not in text and len(text) < 240


def test_every_default_and_every_choice_can_be_used() -> None:
    for name, spec in role_options().items():
        for value in [*spec.get("choices", ()), *([spec["default"]] if "default" in spec else ())]:
            assert value_problems(role_options(), {name: value}) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("partitions", [{"topic": "a", "partition": "3"}]),
        ("max_partitions", "50"),
        ("allow_data_loss", "yes"),
        ("throttle", "1048576"),
        ("serial", "1,5,50%"),
    ],
)
def test_values_as_a_command_line_gives_them_can_be_used(name: str, value: Any) -> None:
    assert value_problems(role_options(), {f"kafka_recovery_{name}": value}) == []


@pytest.mark.parametrize(
    "value",
    [
        *(spelling for text in SPELLINGS for spelling in (text, text.upper(), text.title(), f" {text}", f"{text}\n", text.encode())),
        *(True, False, 1, 0, 2, -1, 1.0, 0.0, 0.5, "1.0", "", [], [True], {}),
    ],
    ids=repr,
)
def test_a_boolean_that_is_accepted_means_the_same_to_roles_and_to_modules(value: Any) -> None:
    if value_problems(role_options(), {"kafka_recovery_require_commit": value}) == []:
        assert boolean(value) is to_bool(value)


@pytest.mark.parametrize("value", [True, False, 1, 0, *ACCEPTED, *(text.upper() for text in ACCEPTED), "True", "False"], ids=repr)
def test_every_plain_boolean_can_be_used(value: Any) -> None:
    assert value_problems(role_options(), {"kafka_recovery_require_commit": value}) == []


@pytest.mark.parametrize("value", ["y", "Y", "t", "T", "n", "f", "true ", 1.0])
def test_a_boolean_in_another_spelling_is_refused_with_those_that_can_be_used(value: Any) -> None:
    (text,) = value_problems(role_options(), {"kafka_recovery_require_commit": value})
    assert text == f"kafka_recovery_require_commit is {value}: it must be one of {', '.join(ACCEPTED)}"


def test_a_secret_is_not_shown() -> None:
    (text,) = value_problems({"kafka_recovery_secret": {"type": "dict", "no_log": True}}, {"kafka_recovery_secret": "hunter-Zx9"})
    assert text == "kafka_recovery_secret is (not shown): it must be a mapping"


@pytest.mark.parametrize("name", ["kafka_recovery_spark_conf", "kafka_recovery_spark_secret_conf"])
def test_settings_of_spark_are_not_shown(name: str) -> None:
    (text,) = value_problems(role_options(), {name: ["hunter-Zx9"]})
    assert "hunter" not in text and "(not shown)" in text


def test_a_long_hostile_value_is_shown_in_one_short_line() -> None:
    (text,) = value_problems(role_options(), {"kafka_recovery_duration": "x\x1b[2J\n" + "y" * 10_000})
    assert text.isprintable() and len(text) < 200


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"partitions": [{"topic": "a", "partition": 0}], "partitions_file": "f"}, ["kafka_recovery_partitions and kafka_recovery_partitions_file are"]),
        ({"partitions": []}, ["kafka_recovery_partitions is empty: name some partitions"]),
        ({"partitions_file": ""}, ["kafka_recovery_partitions_file is empty"]),
        ({"workdir": " "}, ["kafka_recovery_workdir is empty: name a directory, or leave it out to use ~/kafka-recovery"]),
        ({"manual_output_dir": "out", "allow_data_loss": "yes"}, ["kafka_recovery_plan_dir=out"]),
        ({"manual_output_dir": "out", "allow_data_loss": False}, []),
        ({"partitions": [{"topic": "a", "partition": 0}]}, []),
    ],
)  # fmt: skip
def test_variables_that_exclude_each_other_are_named(values: dict[str, Any], expected: list[str]) -> None:
    given = {f"kafka_recovery_{name}": value for name, value in values.items()}
    texts = list(conflicts(given, given))
    assert len(texts) == len(expected) and all(word in text for word, text in zip(expected, texts, strict=True))


def test_an_empty_default_means_nothing() -> None:
    assert list(conflicts({"kafka_recovery_partitions": [], "kafka_recovery_partitions_file": ""}, {})) == []


def test_what_is_revived_must_be_named_before_a_cluster_is_contacted() -> None:
    both = {"kafka_recovery_revive_empty": [{"topic": "orders"}], "kafka_recovery_lost_brokers": {"east": [1]}}
    assert list(unnamed_revivals(["revive"], both)) == list(unnamed_revivals(["elect"], {})) == []
    texts = list(unnamed_revivals(["revive"], {"kafka_recovery_revive_empty": []}))
    assert [text.split()[0] for text in texts] == list(both) and all("for example -e '{" in text for text in texts)
