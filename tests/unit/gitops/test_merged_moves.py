# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Moves of replicas in real repositories, with real signatures: what was merged is approved, and what users who may push branches can do is refused."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from git_proposals import FOLDER, LAYOUT, opened, plan
from git_remotes import Forge, Person, git, ssh_key
from moves_samples import moves, resealed, results

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import moves_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import (
    committed_results,
    proposals,
    recovery_folder,
    repository,
    signatures,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.approval_rules import Rules
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.approvals import Approvals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import MOVES, PLANS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.recovery_folder import Published
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import GitError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import NAMESPACE, AllowedSigners

pytestmark = pytest.mark.slow  # processes of git and ssh-keygen

BRANCH = "recovery/r1"
PATH, RESULTS = f"{FOLDER}/moves/east.json", f"{FOLDER}/move_results/east.json"


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path / "forge")


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, Path]:
    """The keys of the machine that plans and of two people, all of them allowed."""
    made = {name: ssh_key(tmp_path, name, NAMESPACE) for name in ("planner", "ada", "bob")}
    (tmp_path / "signers").write_text("".join(line for _key, line in made.values()))
    return {name: key for name, (key, _line) in made.items()}


@pytest.fixture
def mallory(forge: Forge, keys: dict[str, Path]) -> Person:
    """A person who may push branches, when moves have just been proposed."""
    proposed(forge, {"east": moves()}, keys["planner"])
    return forge.person("mallory")


def proposed(forge: Forge, contents: Mapping[str, bytes], key: Path, *plans: Path, run_id: str = "r1") -> Published:
    with opened(forge) as one:
        sign = lambda content: signatures.sign(content, key, 60)  # noqa: E731
        files = {PLANS: {path.stem: path.read_bytes() for path in plans}, MOVES: contents}
        return proposals.propose(one, LAYOUT, run_id, files, sign=sign)


def committed(forge: Forge, tmp_path: Path, found: Path) -> Published:
    merged = tmp_path / "merged.json"
    merged.write_bytes(moves())
    with opened(forge) as one:
        return committed_results.commit_results(one, LAYOUT, "r1", {"east": merged}, {"east": found}, kind=MOVES)


def judged(forge: Forge, tmp_path: Path, people: int = 1, **options: Any) -> list[dict[str, Any]]:
    with opened(forge) as one:
        rules = Rules(plan_signers=AllowedSigners(tmp_path / "signers", 60), signers=people)
        return Approvals(one, LAYOUT, tmp_path / "work", rules).merged(["east", "west"], **options)


def state(forge: Forge, tmp_path: Path, people: int = 1) -> tuple[str, str]:
    (row,) = judged(forge, tmp_path, people)
    assert row["kind"] == "moves" and (row["state"] == "merged") == bool(row["plan"])
    return row["state"], row["reason"]


def signed(forge: Forge, key: Path, tmp_path: Path) -> bytes:
    """What the documented command makes of the moves on the branch."""
    content = forge.show(BRANCH, PATH)
    done = subprocess.run(
        ["ssh-keygen", "-q", "-Y", "sign", "-n", NAMESPACE, "-f", str(key)], input=content, capture_output=True, check=True
    )
    return done.stdout


def test_moves_are_proposed_merged_and_made_once(forge: Forge, tmp_path: Path, keys: dict[str, Path], mallory: Person) -> None:
    assert forge.names(BRANCH) == [f"{FOLDER}/README.md", PATH, f"{PATH}.sig"]
    again = proposed(forge, {"east": moves(created_at="2026-11-21T05:00:00Z", plan_id="other")}, keys["planner"])
    assert not again.changed and again.signed
    with pytest.raises(GitError, match="with other content"):
        proposed(forge, {"east": moves(20_000_001)}, keys["planner"])
    assert judged(forge, tmp_path) == []

    commit = forge.ada.merge(BRANCH)
    (row,) = judged(forge, tmp_path)
    assert row["state"] == "merged" and row["merged_by"]["commit"] == commit and row["plan_signer"].startswith("planner@example.com (")
    assert Path(row["plan"]).read_bytes() == moves() and Path(row["plan"]).parent.parent.name == "merged_moves"
    assert not Path(row["plan"]).stat().st_mode & 0o077

    left = committed(forge, tmp_path, results(tmp_path, complete=False))
    assert set(left.left_out) == {"east"} and state(forge, tmp_path)[0] == "merged", "a run that was killed can be repeated"
    done = committed(forge, tmp_path, results(tmp_path))
    assert set(done.files) == {RESULTS} and judged(forge, tmp_path) == []
    assert not committed(forge, tmp_path, results(tmp_path)).changed
    with pytest.raises(GitError, match="not results of the plan"):
        committed(forge, tmp_path, results(tmp_path, plan_id="another"))

    # An old proposal comes back, with and without its results.
    forge.ada.remove(RESULTS)
    assert state(forge, tmp_path)[0] == "other_results"


def test_a_plan_and_moves_of_one_recovery_are_approved_by_themselves(forge: Forge, tmp_path: Path, keys: dict[str, Path]) -> None:
    proposed(forge, {"east": moves()}, keys["planner"], plan(tmp_path), plan(tmp_path, "west"))
    page = forge.show(BRANCH, f"{FOLDER}/README.md").decode()
    assert "approves the election of 2 partitions in 2 clusters" in page and "approves new replicas for 1 partition in 1 cluster" in page
    forge.ada.merge(BRANCH)
    assert [(row["kind"], row["cluster"], row["state"]) for row in judged(forge, tmp_path)] == [
        ("moves", "east", "merged"), ("plan", "east", "merged"), ("plan", "west", "merged"),
    ]  # fmt: skip
    committed(forge, tmp_path, results(tmp_path))
    assert [row["kind"] for row in judged(forge, tmp_path)] == ["plan", "plan"]


FASTER = resealed(moves(), throttle=None)
PROPOSED = json.loads(moves())["partitions"][0]
ELSEWHERE = resealed(moves(), partitions=[{**PROPOSED, "replicas": [4, 3]}])


@pytest.mark.parametrize("content", [FASTER, ELSEWHERE])
@pytest.mark.parametrize("with_summary", [False, True])
def test_moves_that_were_changed_on_the_branch_are_refused(
    forge: Forge, tmp_path: Path, mallory: Person, content: bytes, with_summary: bool
) -> None:
    files: dict[str, str | bytes] = {PATH: content}
    if with_summary:
        files[f"{FOLDER}/README.md"] = proposals.summary({MOVES: [moves_file.FORMAT.parse(content, "")]}, "r1")
    mallory.write(files, branch=BRANCH)
    forge.ada.merge(BRANCH)
    assert state(forge, tmp_path)[0] == ("unsigned" if with_summary else "other_summary")


def test_signed_moves_of_another_run_cluster_or_kind_are_refused(
    forge: Forge, tmp_path: Path, keys: dict[str, Path], mallory: Person
) -> None:
    old = {name: forge.show(BRANCH, name) for name in (PATH, f"{PATH}.sig")}
    forge.ada.write({name.replace("/r1/", "/r2/"): content for name, content in old.items()})
    assert state(forge, tmp_path)[0] == "other_cluster"
    forge.ada.remove("recoveries/r2")
    forge.ada.write({name.replace("east", "west"): content for name, content in old.items()})
    assert state(forge, tmp_path)[0] == "other_cluster"
    forge.ada.remove(FOLDER)
    forge.ada.write({name.replace("/moves/", "/plans/"): content for name, content in old.items()})
    (row,) = judged(forge, tmp_path)
    assert row["kind"] == "plan" and row["state"] == "unusable", "signed moves in the place of a plan"


@pytest.mark.parametrize(
    "name",
    [
        "moves/note.md",
        "moves/.gitattributes",
        "moves/west.json.sig",
        "move_results/west.json",
        "moves/east.json.a.b.sig",
        "moves/x/east.json",
    ],
)
def test_a_file_that_does_not_belong_to_moves_refuses_them(forge: Forge, tmp_path: Path, mallory: Person, name: str) -> None:
    mallory.write({f"{FOLDER}/{name}": "{}"}, branch=BRANCH)
    forge.ada.merge(BRANCH)
    assert state(forge, tmp_path)[0] == "unexpected_file"


def test_a_link_in_the_place_of_moves_or_a_signature_refuses_them(forge: Forge, tmp_path: Path, mallory: Person) -> None:
    mallory.pull(BRANCH)
    (mallory.clone / f"{PATH}.mal.sig").symlink_to("east.json.sig")
    git(mallory.clone, "add", "--all")
    git(mallory.clone, "commit", "--quiet", "-m", "link")
    git(mallory.clone, "push", "--quiet", "origin", f"HEAD:refs/heads/{BRANCH}")
    forge.ada.merge(BRANCH)
    assert state(forge, tmp_path)[0] == "unexpected_file"


def test_a_huge_file_is_not_read(forge: Forge, tmp_path: Path, mallory: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "MAX_FILE_BYTES", 100_000)
    mallory.write({f"{PATH}.mal.sig": b"\0" * 100_001}, branch=BRANCH)
    forge.ada.merge(BRANCH)
    found, reason = state(forge, tmp_path)
    assert found == "unusable" and "100001 bytes" in reason
    mallory.write(
        {f"{PATH}.mal.sig": b"x", **{f"{PATH}.m{number}.sig": b"x" for number in range(recovery_folder.MAX_SIGNATURES)}}, branch="main"
    )
    assert state(forge, tmp_path)[0] == "unexpected_file", "each signature takes time to check"


# --- two people ----------------------------------------------------------------------------------------------------------


def test_two_people_must_have_signed(forge: Forge, tmp_path: Path, keys: dict[str, Path], mallory: Person) -> None:
    forge.ada.merge(BRANCH)
    found, reason = state(forge, tmp_path, people=2)
    assert found == "unsigned" and "2 different people" in reason and "has those of 1" in reason
    assert " < recoveries/r1/moves/east.json > recoveries/r1/moves/east.json.NAME.sig" in reason
    forge.ada.write({f"{PATH}.ada.sig": signed(forge, keys["ada"], tmp_path)})
    assert state(forge, tmp_path, people=2)[0] == "merged"
    assert "ada@example.com" in judged(forge, tmp_path, people=2)[0]["plan_signer"]
    assert state(forge, tmp_path, people=3)[0] == "unsigned"
    forge.ada.write({f"{PATH}.bob.sig": signed(forge, keys["bob"], tmp_path)})
    assert state(forge, tmp_path, people=3)[0] == "merged"
    again = proposed(forge, {"east": moves()}, keys["planner"])
    assert again.merged and not again.changed, "signatures of others are no other content"


def test_a_signature_on_the_branch_stays_when_the_moves_are_proposed_again(
    forge: Forge, tmp_path: Path, keys: dict[str, Path], mallory: Person
) -> None:
    forge.ada.write({f"{PATH}.ada.sig": signed(forge, keys["ada"], tmp_path)}, branch=BRANCH)
    assert not proposed(forge, {"east": moves()}, keys["planner"]).changed
    forge.ada.merge(BRANCH)
    assert state(forge, tmp_path, people=2)[0] == "merged"


@pytest.mark.parametrize(
    "how",
    [
        "same file",
        "same key",
        "two names for one key",
        "two keys for one name",
        "a pattern",
        "a stranger",
        "other content",
        "other namespace",
    ],
)
def test_one_person_is_not_two(forge: Forge, tmp_path: Path, keys: dict[str, Path], mallory: Person, how: str) -> None:
    signers = tmp_path / "signers"
    second = signed(forge, keys["ada"], tmp_path)
    if how == "same file":
        second = forge.show(BRANCH, f"{PATH}.sig")
    elif how == "same key":
        second = signed(forge, keys["planner"], tmp_path)
    elif how == "two names for one key":
        kind, public = keys["planner"].with_suffix(".pub").read_text().split()[:2]
        signers.write_text(f"{signers.read_text()}other@example.com {kind} {public}\n")
        second = signed(forge, keys["planner"], tmp_path)
    elif how == "two keys for one name":
        signers.write_text(signers.read_text().replace("ada@", "planner@"))
    elif how == "a pattern":
        signers.write_text(signers.read_text().replace("ada@", "*@"))
    elif how == "a stranger":
        second = signed(forge, ssh_key(tmp_path, "mallory")[0], tmp_path)
    elif how == "other content":
        second = signatures.sign(FASTER, keys["ada"], 60)
    else:
        (tmp_path / "text").write_bytes(moves())
        subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", str(keys["ada"]), str(tmp_path / "text")], check=True)
        second = (tmp_path / "text.sig").read_bytes()
    mallory.write({f"{PATH}.second.sig": second}, branch=BRANCH)
    forge.ada.merge(BRANCH)
    assert state(forge, tmp_path, people=2)[0] == "unsigned"


def test_a_key_with_a_second_line_is_still_its_first_person(forge: Forge, tmp_path: Path, keys: dict[str, Path], mallory: Person) -> None:
    """ssh-keygen shows the first line of a key alone."""
    kind, public = keys["ada"].with_suffix(".pub").read_text().split()[:2]
    signers = tmp_path / "signers"
    signers.write_text(f"{signers.read_text()}planner@example.com {kind} {public}\n")
    mallory.write({f"{PATH}.ada.sig": signed(forge, keys["ada"], tmp_path)}, branch=BRANCH)
    forge.ada.merge(BRANCH)
    assert state(forge, tmp_path, people=2)[0] == "unsigned"


def test_plans_need_the_signatures_too(forge: Forge, tmp_path: Path, keys: dict[str, Path]) -> None:
    proposed(forge, {}, keys["planner"], plan(tmp_path))
    forge.ada.merge(BRANCH)
    (row,) = judged(forge, tmp_path, people=2)
    assert (row["kind"], row["state"]) == ("plan", "unsigned")
    content = forge.show(BRANCH, f"{FOLDER}/plans/east.json")
    forge.ada.write({f"{FOLDER}/plans/east.json.ada.sig": signatures.sign(content, keys["ada"], 60)})
    (row,) = judged(forge, tmp_path, people=2)
    assert row["state"] == "merged" and json.loads(Path(row["plan"]).read_bytes())["cluster"] == "east"
