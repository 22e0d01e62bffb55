# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents: the tests that they name as proof are there, and so are links, playbooks, options and variables; every reason has its place in the runbook."""

from __future__ import annotations

import functools
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import prometheus_client
import pytest
import yaml
from ansible.cli.playbook import PlaybookCLI
from docsite.places import ELSEWHERE, anchors, links, prose, repository_path
from report_samples import incident
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.next_steps import STEPS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import metrics

GUIDES = sorted((ROOT / "docs").glob("*.md"))
DOCUMENTS = [ROOT / "README.md", *GUIDES]
PREFIX = "streamops.kafka_recovery."
# `test_file.py::test_name`, `test_file.py`, or `…::test_name` for one of the file that was named last; a name may end with an ellipsis.
NAMED = re.compile(r"`(?:(?P<folder>[\w/]+/)?(?P<file>test_\w+\.py)|…)(?:::(?P<test>test_\w+)(?P<more>…)?)?`")


def missing(text: str) -> list[str]:
    """Return the tests that a document names and that do not exist. Files without a folder are in tests/integration."""
    wanting, file = [], Path()
    for named in NAMED.finditer(text):
        if named["file"]:
            file = ROOT / (named["folder"] or "tests/integration/") / named["file"]
        found = re.findall(r"(?m)^def (test_\w+)\(", file.read_text()) if file.is_file() else None
        whole = named["test"] is None or any(
            name == named["test"] or (named["more"] and name.startswith(named["test"])) for name in found or ()
        )
        if found is None or not whole:
            wanting.append(named[0])
    return wanting


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_every_test_that_is_named_is_there(path: Path) -> None:
    assert missing(path.read_text()) == []


def test_one_that_is_gone_is_noticed() -> None:
    here = "`tests/unit/repository/test_docs.py::test_one_that_is_gone_is_noticed` `…::test_one_that_…`"
    assert missing(here) == []
    assert missing(here + " `…::test_one` `test_nowhere.py` `test_recover_playbook.py::test_nothing`") == [
        "`…::test_one`",
        "`test_nowhere.py`",
        "`test_recover_playbook.py::test_nothing`",
    ]


def astray(path: Path) -> Iterator[str]:
    """Yield the links of a document that are broken on a Git host."""
    for target in links(path.read_text()):
        name, _, anchor = target.partition("#")
        if ELSEWHERE.match(target):
            continue
        file = ROOT / repository_path(str(path.relative_to(ROOT)), name) if name else path
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file.read_text())):
            yield target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_every_link_leads_somewhere_on_a_git_host(path: Path) -> None:
    assert list(astray(path)) == []


def test_the_start_page_knows_every_guide() -> None:
    known = {target for target in links((ROOT / "docs/index.md").read_text()) if target.endswith(".md")}
    assert {path.name for path in GUIDES} - known == {"index.md"}


def commands(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each ansible-playbook command in code blocks, as a shell splits them."""
    code = "\n".join("" if is_prose else line for line, is_prose in prose(text)).replace("\\\n", " ")
    for found in re.findall(r"ansible-playbook (.*)", code):
        arguments = shlex.split(found, comments=True)
        # An address with a query, or a shell redirection, is not an argument of the playbook.
        yield arguments[: next((place for place, word in enumerate(arguments) if word.startswith((">", "|", "&"))), len(arguments))]


def extra(arguments: list[str]) -> Iterator[str]:
    """Yield the names of the variables that a command sets."""
    for before, value in itertools.pairwise(arguments):
        if before in ("-e", "--extra-vars") and not value.startswith("@"):
            yield from yaml.safe_load(value) if value.startswith("{") else [value.partition("=")[0]]


@functools.cache
def documented() -> set[str]:
    """Return the variables that an operator may set: options of roles, and variables of playbooks."""
    specs = [yaml.safe_load(path.read_text())["argument_specs"] for path in (ROOT / "roles").glob("*/meta/argument_specs.yml")]
    plays = "".join(path.read_text() for path in (ROOT / "playbooks").rglob("*.yml"))
    return {name for spec in specs for entry in spec.values() for name in entry.get("options", {})} | set(
        re.findall(r"kafka_recovery_\w+", plays)
    )


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_every_command_is_one(path: Path) -> None:
    """Its playbook is there, its options are Ansible's, and its variables are ours."""
    found = (path.relative_to(ROOT / "playbooks").with_suffix("") for path in (ROOT / "playbooks").rglob("*.yml"))
    playbooks, variables = {".".join(path.parts) for path in found if path.parts[0] != "tasks"}, documented()
    for arguments in commands(path.read_text()):
        parser: Any = PlaybookCLI(["ansible-playbook"])
        parser.init_parser()
        parsed = parser.parser.parse_args(arguments)
        assert {name.removeprefix(PREFIX) for name in parsed.args if name.startswith(PREFIX)} <= playbooks, arguments
        assert {name for name in extra(arguments) if name.startswith("kafka_recovery_")} <= variables, arguments


def test_a_command_that_is_none_is_noticed() -> None:
    text = (
        "# A\n\n    ansible-playbook x.y.z -i inventory.yml \\\n      -e a=1 -e '{\"b\": [2]}' --check # why\n\n`ansible-playbook prose`\n"
    )
    (arguments,) = commands(text)
    assert arguments == ["x.y.z", "-i", "inventory.yml", "-e", "a=1", "-e", '{"b": [2]}', "--check"]
    assert list(extra(arguments)) == ["a", "b"]
    parser: Any = PlaybookCLI(["ansible-playbook"])
    parser.init_parser()
    with pytest.raises(SystemExit):
        parser.parser.parse_args(["x.yml", "--limits", "east"])


def names_in_the_code() -> set[str]:
    """Return all names kafka_recovery_… in the code: variables, modules, metrics."""
    files = [path for folder in ("roles", "playbooks", "plugins", "extensions") for path in (ROOT / folder).rglob("*") if path.is_file()]
    texts = [path.read_text() for path in files if path.suffix in (".py", ".yml", ".yaml", ".j2", ".js", ".html")]
    texts.append(prometheus_client.generate_latest(metrics.registry(incident())).decode())
    return {word for text in texts for word in re.findall(r"kafka_recovery_\w+", text)} | {path.stem for path in files}


# `kafka_recovery_name`, or `…_name` for one that begins as the last full name of its line does.
NAMES = re.compile(r"\b(?P<full>kafka_recovery_\w+)|`…(?P<rest>_\w+)`")


def names(text: str) -> Iterator[set[str]]:
    """What each name of a document may stand for: itself, or the start of the last full name in its line with the rest that is written."""
    for line in text.splitlines():
        full = ""
        for found in NAMES.finditer(line):
            full = found["full"] or full
            if found["full"]:
                yield {full}
            elif full:
                yield {full[: place.start()] + found["rest"] for place in re.finditer("_", full)} - {f"kafka{found['rest']}"}


def test_every_name_in_documents_is_in_the_code() -> None:
    known = names_in_the_code()
    named = ((path.name, may_be) for path in DOCUMENTS for may_be in names(path.read_text()))
    assert [(path, sorted(may_be)) for path, may_be in named if known.isdisjoint(may_be)] == []


def test_a_name_without_its_beginning_is_expanded() -> None:
    text = "`kafka_recovery_at_least_offsets`, `…_at_most_offsets`\n`…_elsewhere`"
    first, second = names(text)
    assert first == {"kafka_recovery_at_least_offsets"}
    assert second == {f"kafka_recovery{between}_at_most_offsets" for between in ("", "_at", "_at_least")}


def test_the_runbook_has_a_place_for_every_reason() -> None:
    assert {word for word in STEPS if f"`{word}`" not in (ROOT / "docs/runbook.md").read_text()} == set()


def test_the_guide_to_files_names_the_version_of_plans() -> None:
    assert f"version {plan_file.VERSION};" in (ROOT / "docs/operations.md").read_text()


def test_no_guide_lets_a_proposal_be_merged_by_a_fast_forward_or_a_rebase() -> None:
    """Its author could add results to a proposal, so that the plan is not applied."""
    ways = [re.search(r"Merge it [^.]*", path.read_text()) for path in GUIDES]
    found = [way[0] for way in ways if way]
    assert found and not [way for way in found if re.search("rebase|fast-forward", way)]
