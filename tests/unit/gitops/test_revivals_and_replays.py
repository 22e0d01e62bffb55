# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Revivals and replays in real repositories: the page that reviewers read, and what was merged is approved once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from git_proposals import FOLDER, LAYOUT, opened
from git_remotes import Forge, ssh_key
from moves_samples import moves, resealed
from reviewed_samples import GROUP, REPLAYED, REVIVED, replays, revivals

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import spaced
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import replays_file, revivals_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.reviewed_file import ReviewedFileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import committed_results, proposals, signatures
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.approval_rules import Rules
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.approvals import Approvals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import KINDS, MOVES, REPLAYS, REVIVALS, Kind
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import NAMESPACE, AllowedSigners

SAMPLES = {REVIVALS: revivals(), REPLAYS: replays()}
KIND = pytest.mark.parametrize("kind", SAMPLES, ids=lambda kind: kind.name)


def page(kind: Kind, content: bytes) -> str:
    return proposals.summary({kind: [kind.parse(content, "east.json")]}, "r1").decode()


def test_the_page_says_what_a_revival_gives_up() -> None:
    shown = page(REVIVALS, revivals())
    assert "**Merging this gives up every record of 1 partition in 1 cluster.**" in shown and "approves the election" not in shown
    assert "| `t-0` | 1 | 1 | 2, 3 |" in shown and "Save the disk of broker 1" in shown
    assert "| `idle` | `t-0` | 4,711 | Empty | **skips as many new records** |" in shown
    internal = page(REVIVALS, revivals(partitions=[{**REVIVED, "topic": "__transaction_state", "replicas_before": [1, 4, 5]}]))
    assert "readers of committed records stop" in internal and "1 partition gets fewer replicas" in internal
    assert "set to 0" in page(REVIVALS, revivals(groups=[{**GROUP, "reset": True}], reset_groups=True))


@pytest.mark.parametrize("option", revivals_file.OPTIONS[1:])
def test_the_page_shows_each_option_of_a_revival_although_no_group_is_named(option: str) -> None:
    for value, answer in ((True, "yes"), (False, "no")):
        assert f"| {spaced(option)} | {answer} |" in page(REVIVALS, revivals(**{option: value}, groups=[]))


def test_a_group_whose_offset_is_not_reset_is_not_said_to_be() -> None:
    with pytest.raises(ReviewedFileError, match=r"groups\[0\]"):
        revivals(groups=[{**GROUP, "reset": True}], reset_groups=False)


def test_the_page_shows_each_option_of_a_replay_also_if_it_is_0() -> None:
    options = replays_file.FORMAT.parse(replays(), "")["options"]
    shown = page(REPLAYS, replays(options={**options, "start_offset": 0, "end_offset": 0, "groups": []}))
    assert all(f"| {name} |" in shown for name in ("start offset", "end offset", "groups")), shown


def test_options_of_a_replay_have_the_range_that_those_of_the_module_have() -> None:
    options = replays_file.FORMAT.parse(replays(), "")["options"]
    with pytest.raises(ReviewedFileError, match="max_batch_bytes"):
        replays(options={**options, "max_batch_bytes": 0})


def test_the_page_says_what_a_replay_writes() -> None:
    options = {**replays_file.FORMAT.parse(replays(), "")["options"], "include_undecided": True, "keys": ["a|b"]}
    shown = page(REPLAYS, replays(options=options))
    assert "**Merging this writes 2 saved records again, to 1 partition in 1 cluster.**" in shown
    assert "| `t` | 1 | 2 | 2.0 kB | in cluster: 7 | 1 | 0 |" in shown, shown
    assert "include undecided" in shown and "the topic is compacted" in shown and "a|b" not in shown


@KIND
@pytest.mark.parametrize(
    "values",
    [
        {"more": 1},
        {"cluster": ""},
        {"partitions": [{**REVIVED, **REPLAYED, "partition": -1}]},
        {"partitions": [{"topic": "t", "partition": 0}]},
    ],
)
def test_what_was_not_reviewed_is_refused_although_its_sha256_fits(kind: Kind, values: dict[str, Any]) -> None:
    with pytest.raises(ReviewedFileError, match=r"east\.json"):
        kind.parse(resealed(SAMPLES[kind], **values), "east.json")


def test_a_file_of_one_kind_is_none_of_another() -> None:
    for kind, content in {**SAMPLES, MOVES: moves()}.items():
        for other in (REVIVALS, REPLAYS, MOVES):
            if other is not kind:
                with pytest.raises(ReviewedFileError):
                    other.parse(content, "east.json")


@pytest.mark.slow
@KIND
def test_it_is_proposed_merged_and_applied_once(kind: Kind, tmp_path: Path) -> None:
    forge, (key, line) = Forge(tmp_path / "forge"), ssh_key(tmp_path, "planner", NAMESPACE)
    (tmp_path / "signers").write_text(line)
    path, results = f"{FOLDER}/{kind.folder}/east.json", f"{FOLDER}/{kind.results}/east.json"

    def propose(content: bytes) -> bool:
        with opened(forge) as one:
            return proposals.propose(one, LAYOUT, "r1", {kind: {"east": content}}, sign=lambda text: signatures.sign(text, key, 60)).changed

    def judged() -> list[dict[str, Any]]:
        with opened(forge) as one:
            return Approvals(one, LAYOUT, tmp_path / "work", Rules(plan_signers=AllowedSigners(tmp_path / "signers", 60))).merged(["east"])

    def commit(**values: Any) -> dict[str, str]:
        document = {"plan_id": "7f3e", "complete": True, "summary": {}, "partitions": [], **values}
        (tmp_path / "results.json").write_text(json.dumps(document))
        with opened(forge) as one:
            files = {"east": Path(row["plan"])}
            return committed_results.commit_results(one, LAYOUT, "r1", files, {"east": tmp_path / "results.json"}, kind=kind).left_out

    assert propose(SAMPLES[kind]) and forge.names("recovery/r1") == [f"{FOLDER}/README.md", path, f"{path}.sig"]
    assert not propose(resealed(SAMPLES[kind], plan_id="other", created_at="2026-11-21T05:00:00Z")), "the same, planned again"
    forge.ada.merge("recovery/r1")
    (row,) = judged()
    assert (row["state"], row["kind"]) == ("merged", kind.name) and Path(row["plan"]).read_bytes() == SAMPLES[kind]
    assert Path(row["plan"]).parent.parent.name == kind.copies and not Path(row["plan"]).stat().st_mode & 0o077
    assert set(commit(complete=False)) == {"east"} and judged()[0]["state"] == "merged", "a run that was killed can be repeated"
    assert commit() == {} and results in forge.names() and judged() == []


def test_every_kind_has_folders_of_its_own() -> None:
    for name in ("name", "folder", "results", "copies"):
        assert len({getattr(kind, name) for kind in KINDS}) == len(KINDS)
    assert revivals_file.FORMAT.essence({}) == {}
