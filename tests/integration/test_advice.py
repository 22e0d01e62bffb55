# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is advised is as safe as the tool: each command that is shown, run as it stands, touches exactly the partitions that it is shown for."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from integration import damaged
from integration.requestlog import RequestLog
from integration.support import CHECKOUT, GIVE_UP_SECONDS, Operator, TopicPartition

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.next_steps import FORCE, order
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.partition_groups import SHOWN

# No run elects anything in these.
TOPICS = damaged.of("none")
# Lines of a report, and of the summary of a run.
NEXT = re.compile(
    r'^\s*"?(?:Next, for (\d+) partitions?(?: in cluster \w+)?: |(?:held|stale|failed) \(\w+\), (\d+): |to elect, (\d+)(?:: |$))'
)


def named(operator: Operator, topics: list[str]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": partition} for topic, partition in operator.keys(topics)]


def commands_of(screen: str) -> dict[str, int]:
    """The commands on a screen in the order in which they stand there, each with the number of partitions that the lines above it name."""
    found, count, is_shared = {}, 0, False
    for line in screen.splitlines():
        if match := NEXT.match(line):
            count, is_shared = int(match[match.lastindex or 1]) + (count if is_shared else 0), True
        # A header of a task has a bracket before the name. A line "fatal:" has the message once more, as JSON.
        elif " streamops.kafka_recovery." in line and count and not line.startswith("fatal:"):
            found[re.sub(r'^\s*"|",?$', "", line).strip()] = count
            is_shared = False
    return found


def pasted(command: str, operator: Operator) -> tuple[str, set[TopicPartition], set[TopicPartition]]:
    """Run a command as a dry run: what it says, which partitions it plans for, and whom it would elect for."""
    before = set(operator.workdir.glob("plans/*/*.json"))
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg")}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    line = f"{command} --check --diff -e kafka_recovery_spark_remote={operator.spark_remote}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False, timeout=GIVE_UP_SECONDS
    )
    planned: set[TopicPartition] = set()
    for path in set(operator.workdir.glob("plans/*/*.json")) - before:
        plan = json.loads(path.read_text())
        planned |= {(row["topic"], row["partition"]) for section in ("partitions", "held", "online") for row in plan[section]}
    elected = {(topic, int(partition)) for topic, partition in re.findall(r"(?m)^\+(\S+)-(\d+): replicas .*leader \d", done.stdout)}
    return done.stdout + done.stderr, planned, elected


def reasons_of(operator: Operator, run_id: str) -> dict[str, set[TopicPartition]]:
    """The partitions of a plan by what holds them, those that it would elect as "planned"."""
    plan = operator.read("plans", run_id)
    found: dict[str, set[TopicPartition]] = {}
    for row in [*({**row, "reason_code": "planned"} for row in plan["partitions"]), *plan["held"]]:
        found.setdefault(row["reason_code"], set()).add((row["topic"], row["partition"]))
    return found


@pytest.mark.long
def test_a_dry_run_advises_to_force_what_is_forked_and_nothing_else(east: Operator) -> None:
    before, log = east.states(*TOPICS), RequestLog(east.cluster)
    played = east.play("recover", "1", "--check", "--diff", partitions=named(east, TOPICS), allow_data_loss=True)
    assert east.read("plans", "1")["dry_run"] is True and not east.path("results", "1").exists()
    commands, reasons = list(commands_of(played.said)), reasons_of(east, "1")
    words = sorted(set(reasons) - {"planned"}, key=order)
    assert words[:2] == ["wait_for_clean_leader", "no_survivor"] and set(words[2:]) <= set(FORCE), words
    assert [re.findall(r" streamops\.kafka_recovery\.(\w+)$", command) for command in commands] == [
        ["plan"],
        ["plan"],
        ["apply"],
        *[["recover"]] * len(words[2:]),
    ], played
    assert "INVENTORY" not in played.said
    assert commands[-1].endswith(" --check --diff streamops.kafka_recovery.recover"), "what is forced is looked at first"
    said, planned, elected = pasted(commands[-1], east)
    assert planned == elected == reasons[words[-1]], said
    assert {topic for topic, _partition in elected} == {"forked.none"}
    assert log.written() == {} and east.states(*TOPICS) == before


@pytest.mark.long
def test_every_command_of_terminal_results_and_page_touches_what_it_is_shown_for(east: Operator) -> None:
    before = east.states(*TOPICS)
    played = east.play("recover", "1", partitions=named(east, TOPICS))
    assert played.returncode != 0, "nothing may be elected"
    reported = east.play("report", "page", report_runs=["1"])
    assert reported.returncode == 0, reported
    document = json.loads((east.workdir / "reports" / "page" / "report.json").read_text())
    page = html.unescape((east.workdir / "reports" / "page" / "report.html").read_text())
    first_section = page[page.index('<section id="todo">') : page.index("</section>")]
    on_page = re.findall(r"<pre>(.*?)</pre>", first_section)
    on_screen = commands_of(played.said)
    advised = [row["command"] for row in document["held"]]
    others = [row["command"] for row in document["others_offline"]]
    # A screen has the commands of the cheapest steps, and says how many partitions have others. The page also has those for partitions of no run.
    assert on_page == [*advised, *others] and list(on_screen) == advised[:SHOWN], played
    assert (len(advised) > SHOWN) == ("see the results" in played.said), played
    # The report also says what to do about partitions that the run was not about.
    assert list(commands_of(reported.said)) == [*advised, *others], reported

    reasons = reasons_of(east, "1")
    shown_for = {row["command"]: row for row in document["held"]}
    assert {row["reason_code"] for row in document["held"]} >= {"wait_for_clean_leader", "no_survivor", "data_loss_not_allowed"}
    for command, row in shown_for.items():
        keys = reasons["planned" if row["reason_code"] == "data_loss_not_allowed" else row["reason_code"]]
        assert len(keys) == row["partitions"] == on_screen.get(command, len(keys))
        said, planned, elected = pasted(command, east)
        applies = command.endswith(".apply")
        touched = elected if applies else planned
        assert touched == keys, said
        assert elected in ((keys,) if applies or command.endswith(".recover") else (set(),)), said

    # The same for single partitions, one for each word.
    for row in {row["reason_code"]: row for row in document["partitions"] if row["command"]}.values():
        said, planned, _elected = pasted(row["command"], east)
        assert planned == {(row["topic"], row["partition"])}, said
    assert east.states(*TOPICS) == before


@pytest.mark.long
def test_more_partitions_than_a_line_names_are_in_a_file_that_the_command_names(east: Operator) -> None:
    played = east.play("recover", "1", "--check", partitions=named(east, [damaged.KILLED]), strategy="none", allow_data_loss=True)
    ((command, count),) = commands_of(played.said).items()
    assert count == damaged.KILLED_PARTITIONS
    (path,) = map(Path, re.findall(r"kafka_recovery_partitions_file=(\S+)", command))
    assert path.stat().st_mode & 0o777 == 0o600
    said, planned, elected = pasted(command, east)
    assert planned == set(east.keys([damaged.KILLED])) and elected == set(), said


@pytest.mark.long
@pytest.mark.parametrize("variable", ["kafka_recovery_partitions", "kafka_recovery_partitions_file"])
def test_a_command_can_be_pasted_if_a_file_of_variables_names_partitions(east: Operator, tmp_path: Path, variable: str) -> None:
    rows = named(east, [damaged.KILLED])
    (tmp_path / "wanted.json").write_text(json.dumps({"partitions": rows}))
    value = rows if variable == "kafka_recovery_partitions" else str(tmp_path / "wanted.json")
    (tmp_path / "tonight.json").write_text(json.dumps({variable: value}))
    played = east.play("recover", "1", "--check", "-e", f"@{tmp_path}/tonight.json", strategy="none", allow_data_loss=True)
    (command,) = commands_of(played.said)
    said, planned, _elected = pasted(command, east)
    assert planned == set(east.keys([damaged.KILLED])), said


@pytest.mark.long
def test_the_last_screen_of_a_plan_is_the_command_that_applies_it(east: Operator) -> None:
    played = east.play("plan", "1", partitions=named(east, TOPICS))
    assert played.returncode == 0, played
    (command,) = re.findall(r"(?m)^(\S*ansible-playbook .* streamops\.kafka_recovery\.apply)$", played.stdout)
    said, _planned, elected = pasted(command, east)
    assert elected == reasons_of(east, "1")["planned"], said
