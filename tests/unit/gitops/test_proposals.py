# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans are proposed and results committed, on real repositories: once, and never over the files of others."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from git_proposals import FOLDER, LAYOUT, committed, opened, plan, proposed, results
from git_remotes import Forge, git
from plan_samples import BROKER, ELECTED

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.plan_file import PlanError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import committed_results, proposals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import PLANS, STILL_TO_APPLY
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.proposals import propose
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.recovery_folder import content_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import (
    GitError,
    PushRejectedError,
    Repository,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path / "forge")


def test_a_proposal_is_a_branch_with_the_plans_as_they_are_and_a_second_one_changes_nothing(forge: Forge, tmp_path: Path) -> None:
    east, west = plan(tmp_path), plan(tmp_path, "west")
    main = forge.tip()
    dry = proposed(forge, east, west, push=False)
    assert dry.changed and forge.tip("recovery/r1") == ""

    first = proposed(forge, east, west)
    assert first.changed and first.branch == "recovery/r1" and forge.tip("recovery/r1") == first.commit
    assert forge.names("recovery/r1") == [f"{FOLDER}/README.md", f"{FOLDER}/plans/east.json", f"{FOLDER}/plans/west.json"]
    assert forge.show("recovery/r1", f"{FOLDER}/plans/east.json") == east.read_bytes()
    assert "streamops.kafka_recovery.apply_merged" in forge.show("recovery/r1", f"{FOLDER}/README.md").decode()
    assert forge.tip() == main, "it is not merged"

    again = proposed(forge, east, west)
    assert not again.changed and again.commit == first.commit and not again.merged
    forge.ada.merge("recovery/r1")
    merged = proposed(forge, east, west)
    assert not merged.changed and merged.merged and merged.branch == "main"


def test_the_summary_is_the_same_on_every_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who applies a recovery makes its summary again: of the plans alone, whichever inventory, directory or environment is there."""
    loaded = [plan_file.load(plan(tmp_path)), plan_file.load(plan(tmp_path, "west"))]
    here = proposals.summary({PLANS: loaded}, "r1")
    monkeypatch.chdir("/")
    monkeypatch.setattr(sys, "argv", ["ansible-playbook", "-i", "elsewhere.yml"])
    for name, value in {
        "HOME": "/nonexistent",
        "ANSIBLE_INVENTORY": "elsewhere.yml",
        "TZ": "Asia/Tokyo",
        "LANG": "C",
        "USER": "another",
    }.items():
        monkeypatch.setenv(name, value)
    assert proposals.summary({PLANS: loaded}, "r1") == here
    assert b"INVENTORY" in here and b"elsewhere" not in here


def test_a_plan_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "east.json").symlink_to(tmp_path / "nowhere.json")
    with pytest.raises(GitError, match=r"east\.json: cannot be read"):
        content_of(tmp_path / "east.json")


def test_a_branch_that_holds_something_else_is_not_written_over(forge: Forge, tmp_path: Path) -> None:
    proposed(forge, plan(tmp_path))
    head = forge.tip("recovery/r1")
    with pytest.raises(GitError, match=r"recovery/r1 .*\(recoveries/r1/plans/east\.json\)"):
        proposed(forge, plan(tmp_path, strategy="aggressive"))
    with pytest.raises(GitError, match=r"recovery/r1 .*\(recoveries/r1/"):
        proposed(forge, plan(tmp_path), plan(tmp_path, "west"))
    assert forge.tip("recovery/r1") == head
    forge.ada.write({f"{FOLDER}/note.txt": "by hand"}, branch="recovery/r1")
    with pytest.raises(GitError, match=r"\(recoveries/r1/note.txt\)"):
        proposed(forge, plan(tmp_path))


def test_a_plan_that_was_made_again_while_nothing_had_moved_is_proposed_already(forge: Forge, tmp_path: Path) -> None:
    proposed(forge, plan(tmp_path))
    head = forge.tip("recovery/r1")
    again: dict[str, Any] = {"plan_id": "another", "created_at": "2026-11-21T05:00:00Z", "brokers": [{**BROKER, "silent_seconds": 99.5}]}
    assert not proposed(forge, plan(tmp_path, **again)).changed
    moved = {**again, "partitions": [{**ELECTED, "guards": {**ELECTED["guards"], "leader_epoch": 4}}]}
    with pytest.raises(GitError, match=r"\(recoveries/r1/plans/east.json\)"):
        proposed(forge, plan(tmp_path, **moved))
    assert forge.tip("recovery/r1") == head

    # A summary that does not say what the plan does is no proposal of ours.
    forge.ada.write({f"{FOLDER}/README.md": "harmless"}, branch="recovery/r1")
    for values in (again, {}):
        with pytest.raises(GitError, match=r"\(recoveries/r1/README.md\)"):
            proposed(forge, plan(tmp_path, **values))
    forge.ada.write({f"{FOLDER}/plans/east.json": "{}"}, branch="recovery/r1")
    with pytest.raises(GitError, match=r"\(recoveries/r1/plans/east.json\)"):
        proposed(forge, plan(tmp_path))


def test_a_recovery_that_is_merged_is_not_proposed_with_another_plan(forge: Forge, tmp_path: Path) -> None:
    proposed(forge, plan(tmp_path))
    forge.ada.merge("recovery/r1")
    with pytest.raises(GitError, match=r"recovery r1 .* main .*\(recoveries/r1/plans/east\.json\)"):
        proposed(forge, plan(tmp_path, strategy="aggressive"))


def test_a_proposal_that_the_remote_declines_says_so(forge: Forge, tmp_path: Path) -> None:
    forge.hook("pre-receive", "echo 'no branches for you' >&2; exit 1")
    with pytest.raises(PushRejectedError, match=r"recovery/r1: .*no branches for you"):
        proposed(forge, plan(tmp_path))


@pytest.mark.parametrize("run_id", ["../x", "--upload-pack=x", "a..b", "x.lock", "a/b", ""])
def test_hostile_names_of_runs_are_refused(forge: Forge, tmp_path: Path, run_id: str) -> None:
    with opened(forge) as repository, pytest.raises(Exception, match="cannot be"):
        propose(repository, LAYOUT, run_id, {PLANS: {"east": plan(tmp_path, run_id=run_id or "x").read_bytes()}})
    assert forge.names() == []


def test_only_whole_plans_of_this_run_and_cluster_are_proposed(forge: Forge, tmp_path: Path) -> None:
    with pytest.raises(GitError, match="was made for cluster east in run r2, not for east in run r1"):
        proposed(forge, plan(tmp_path, run_id="r2"))
    edited = plan(tmp_path)
    edited.write_text(edited.read_text().replace("orders", "others"))
    with pytest.raises(PlanError, match="edited by hand"):
        proposed(forge, edited)
    (tmp_path / "east.json").write_text('{"partitions": [{"topic": "foo", "partition": 1, "designatedLeader": 0}]}')
    with pytest.raises(GitError, match="is a bare KIP-1275 file"):
        proposed(forge, tmp_path / "east.json")


def test_results_are_pushed_to_the_protected_branch_after_another_push(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = {"east": plan(tmp_path), "west": plan(tmp_path, "west")}
    found = {"east": results(tmp_path)}
    pushed = Repository.push
    others = iter(["a", "b"])

    def push(repository: Repository, commit: str, branch: str) -> list[str]:
        """Another run is faster, twice."""
        if name := next(others, None):
            forge.ada.write({name: name})
        return pushed(repository, commit, branch)

    monkeypatch.setattr(Repository, "push", push)
    done = committed(forge, plans, found)
    assert done.changed and forge.tip() == done.commit and done.run_id == "r1"
    assert forge.names() == ["a", "b", f"{FOLDER}/results/east.json"]
    assert forge.show("main", f"{FOLDER}/results/east.json") == found["east"].read_bytes()

    assert not committed(forge, plans, found).changed
    later = committed(forge, plans, {**found, "west": results(tmp_path, "west")})
    assert list(later.files) == [f"{FOLDER}/results/west.json"]


def test_other_results_of_the_same_recovery_are_not_written_over(forge: Forge, tmp_path: Path) -> None:
    plans = {"east": plan(tmp_path)}
    committed(forge, plans, {"east": results(tmp_path)})
    before = forge.tip()
    with pytest.raises(GitError, match=r"results/east\.json is on main"):
        committed(forge, plans, {"east": results(tmp_path, reason_code="another")})
    with pytest.raises(GitError, match="kafka_recovery_run_id"):
        committed(forge, plans, {"east": results(tmp_path, plan_id="another")})
    assert forge.tip() == before


@pytest.mark.parametrize("code", [ReasonCode.INTERRUPTED, ReasonCode.DATA_LOSS_NOT_ALLOWED])
def test_results_of_a_plan_that_is_still_to_be_applied_are_left_out(forge: Forge, tmp_path: Path, code: str) -> None:
    assert set(STILL_TO_APPLY) == {ReasonCode.INTERRUPTED, ReasonCode.DATA_LOSS_NOT_ALLOWED}
    done = committed(forge, {"east": plan(tmp_path)}, {"east": results(tmp_path, reason_code=code)})
    assert not done.changed and done.left_out == {"east": STILL_TO_APPLY[code]}
    assert forge.names() == []


def test_a_protected_branch_that_takes_no_results_is_not_tried_for_ever(forge: Forge, tmp_path: Path) -> None:
    forge.hook("pre-receive", "echo 'protected branch' >&2; echo once >> tries; exit 1")
    with pytest.raises(PushRejectedError, match=r"recovery r1 on main: .*protected branch"):
        committed(forge, {"east": plan(tmp_path)}, {"east": results(tmp_path)})
    assert (Path(forge.url) / "tries").read_text().count("once") == 1


def test_results_run_no_pipeline(forge: Forge, tmp_path: Path) -> None:
    done = committed(forge, {"east": plan(tmp_path)}, {"east": results(tmp_path)})
    forge.ada.pull()
    message = git(forge.ada.clone, "log", "-1", "--format=%B", done.commit)
    assert message.splitlines() == ["Results of recovery r1 [skip ci]", "", "east: 1 elected"]
    assert committed_results.SKIP in message


@pytest.mark.parametrize(
    "values",
    [
        {"summary": {"elected\nSigned-off-by: ada": 1}},
        {"summary": {"elected": "1 [run pipeline]"}},
        {"summary": ["elected"]},
        {"partitions": ["t-0"]},
    ],
)
def test_results_that_others_have_written_to_the_store_are_not_committed(forge: Forge, tmp_path: Path, values: dict[str, object]) -> None:
    found = results(tmp_path)
    found.write_text(json.dumps({**json.loads(found.read_text()), **values}))
    with pytest.raises(GitError, match="is not a results file"):
        committed(forge, {"east": plan(tmp_path)}, {"east": found})
