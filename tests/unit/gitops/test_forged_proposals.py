# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attacks of people who may push branches, on real repositories: each is merged by a reviewer who reads what the forge shows, and is refused afterwards."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from git_approvals import PATH, judged, refused, the_one
from git_proposals import FOLDER, LAYOUT, committed, plan, proposed, results
from git_remotes import Forge, Person, git, plan_key, ssh_key
from plan_samples import ELECTED, SURVIVORS

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import signatures
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.approval_rules import Rules
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.approvals import Approvals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import PLANS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.proposals import summary
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import GitError, Remote, scratch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import AllowedSigners

pytestmark = pytest.mark.slow  # processes of git, Ansible or many connections

BRANCH = "recovery/r1"
RESULTS = f"{FOLDER}/results/east.json"
SIGNATURE = f"{PATH}.sig"
# Broker 2 holds more than broker 3, and the plan elects broker 3 all the same.
WORSE = {**ELECTED, "designatedLeader": 3, "replicas_best_first": [3, 2, 1], "guards": {**ELECTED["guards"], "survivors": SURVIVORS}}


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path / "forge")


@pytest.fixture
def mallory(forge: Forge, tmp_path: Path) -> Person:
    """A person who may push branches, when a plan has just been proposed."""
    proposed(forge, plan(tmp_path))
    return forge.person("mallory")


def stamp(created: datetime) -> str:
    return created.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_plan_that_was_changed_and_sealed_again_does_not_fit_the_summary(forge: Forge, tmp_path: Path, mallory: Person) -> None:
    mallory.write({PATH: plan(tmp_path, partitions=[WORSE]).read_bytes()}, branch=BRANCH)
    forge.ada.merge(BRANCH)
    state, reason = refused(forge, tmp_path)
    assert state == "other_summary"
    assert f"{FOLDER}/README.md" in reason and "propose" in reason


def test_a_summary_that_was_rewritten_does_not_fit_the_plans(forge: Forge, tmp_path: Path, mallory: Person) -> None:
    page = forge.show(BRANCH, f"{FOLDER}/README.md")
    for content in (page.replace(b"`orders-0` | 2", b"`orders-0` | 1"), page + b"\n", b""):
        assert content != page
        mallory.write({f"{FOLDER}/README.md": content}, branch=BRANCH)
        forge.ada.merge(BRANCH)
        assert refused(forge, tmp_path)[0] == "other_summary"
    forge.ada.write({f"{FOLDER}/README.md": page})
    assert the_one(judged(forge, tmp_path))["state"] == "merged"
    forge.ada.remove(f"{FOLDER}/README.md")
    assert refused(forge, tmp_path)[0] == "other_summary"


def test_a_plan_that_the_summary_does_not_show_refuses_the_whole_recovery(forge: Forge, tmp_path: Path, mallory: Person) -> None:
    mallory.write({f"{FOLDER}/plans/west.json": plan(tmp_path, "west").read_bytes()}, branch=BRANCH)
    forge.ada.merge(BRANCH)
    assert {(row["cluster"], row["state"]) for row in judged(forge, tmp_path)} == {("east", "other_summary"), ("west", "other_summary")}
    mallory.write({f"{FOLDER}/plans/west.json": "{}"}, branch=BRANCH)
    forge.ada.merge(BRANCH)
    assert {(row["cluster"], row["state"]) for row in judged(forge, tmp_path)} == {("east", "unusable"), ("west", "unusable")}


@pytest.mark.parametrize(
    "name",
    ["readme.md", "README.txt", ".gitattributes", "plans/README.md", "plans/.gitattributes", "plans/ east.json", "results/west.json"],
)
def test_a_file_that_is_none_of_a_recovery_refuses_it(forge: Forge, tmp_path: Path, mallory: Person, name: str) -> None:
    mallory.write({f"{FOLDER}/{name}": "read me instead"}, branch=BRANCH)
    forge.ada.merge(BRANCH)
    state, reason = refused(forge, tmp_path)
    assert state == "unexpected_file" and f"{FOLDER}/{name}" in reason


@pytest.mark.parametrize("name", ["README.md", "plans/east.json", "plans/west.json", "plans/east.json.sig", "note.md"])
def test_a_link_in_place_of_a_file_refuses_it(forge: Forge, tmp_path: Path, mallory: Person, name: str) -> None:
    mallory.pull(BRANCH)
    path = mallory.clone / FOLDER / name
    elsewhere = mallory.clone / "harmless"
    if path.exists():
        path.rename(elsewhere)
    else:
        elsewhere.write_text("read me instead")
    path.symlink_to(Path("..").joinpath(*[".."] * name.count("/"), "..", "harmless"))
    git(mallory.clone, "add", "--all")
    git(mallory.clone, "commit", "--quiet", "-m", "link")
    git(mallory.clone, "push", "--quiet", "origin", f"HEAD:refs/heads/{BRANCH}")
    forge.ada.merge(BRANCH)
    rows = judged(forge, tmp_path)
    assert "east" in {row["cluster"] for row in rows} and {row["state"] for row in rows} == {"unexpected_file"}, rows


def test_results_that_were_planted_on_the_proposal_and_removed_suppress_nothing(forge: Forge, tmp_path: Path, mallory: Person) -> None:
    mallory.write({RESULTS: results(tmp_path).read_bytes()}, branch=BRANCH)
    git(mallory.clone, "rm", "--quiet", RESULTS)
    git(mallory.clone, "commit", "--quiet", "-m", "nothing")
    git(mallory.clone, "push", "--quiet", "origin", f"HEAD:refs/heads/{BRANCH}")
    forge.ada.merge(BRANCH)
    assert RESULTS not in forge.names()
    assert the_one(judged(forge, tmp_path))["state"] == "merged"


def test_results_that_a_fast_forward_brought_and_removed_are_no_silent_end(forge: Forge, tmp_path: Path, mallory: Person) -> None:
    mallory.write({RESULTS: results(tmp_path).read_bytes()}, branch=BRANCH)
    git(mallory.clone, "rm", "--quiet", RESULTS)
    git(mallory.clone, "commit", "--quiet", "-m", "nothing")
    git(mallory.clone, "push", "--quiet", "origin", f"HEAD:refs/heads/{BRANCH}")
    forge.ada.merge(BRANCH, "--ff-only")
    state, reason = refused(forge, tmp_path)
    assert state == "other_results" and "removed" in reason


@pytest.mark.parametrize("how", ["--ff-only", "--no-ff"])
def test_a_plan_that_results_suppress_is_shown_with_their_commit(forge: Forge, tmp_path: Path, mallory: Person, how: str) -> None:
    """A fast-forward makes commits of the proposal commits of the branch itself, and nothing shows who made them."""
    if how == "--no-ff":
        forge.ada.merge(BRANCH, how)
    branch = BRANCH if how == "--ff-only" else "main"
    commit = mallory.write({RESULTS: results(tmp_path).read_bytes()}, branch=branch)
    if how == "--ff-only":
        forge.ada.merge(BRANCH, how)
    with scratch(Remote(forge.url), "main") as repository:
        approvals = Approvals(repository, LAYOUT, tmp_path / "work", Rules())
        assert approvals.merged(["west"]) == [] == approvals.applied
        assert approvals.merged(["east"]) == []
        (row,) = approvals.applied
        assert (row["run_id"], row["cluster"], row["state"], row["plan"]) == ("r1", "east", "already_applied", "")
        assert "Ada <ada@example.com>" in row["reason"] and commit[:12] in row["reason"]


@pytest.mark.parametrize("plan_id", ["0b7c", "another"])
def test_results_that_come_with_the_plan_do_not_hide_it(forge: Forge, tmp_path: Path, mallory: Person, plan_id: str) -> None:
    mallory.write({RESULTS: results(tmp_path, plan_id=plan_id).read_bytes()}, branch=BRANCH)
    forge.ada.merge(BRANCH)
    state, reason = refused(forge, tmp_path)
    assert state == "other_results" and RESULTS in reason


def test_a_file_that_is_not_results_does_not_hide_a_plan(forge: Forge, tmp_path: Path, mallory: Person) -> None:
    forge.ada.merge(BRANCH)
    for content in (b"{}", b"[]", b"no JSON", b'{"plan_id": 1}', b"\xff"):
        forge.ada.write({RESULTS: content})
        assert refused(forge, tmp_path)[0] == "other_results", content


def test_results_that_were_there_before_the_plan_suppress_nothing_unseen(forge: Forge, tmp_path: Path, mallory: Person) -> None:
    forge.ada.write({RESULTS: results(tmp_path).read_bytes()})
    forge.ada.merge(BRANCH)
    assert refused(forge, tmp_path)[0] == "other_results"


def test_results_of_a_plan_that_had_its_place_before_do_not_count(forge: Forge, tmp_path: Path, mallory: Person) -> None:
    forge.ada.merge(BRANCH)
    committed(forge, {"east": plan(tmp_path)}, {"east": results(tmp_path)})
    assert judged(forge, tmp_path) == []
    forge.ada.write({PATH: plan(tmp_path, plan_id="another").read_bytes()})
    assert refused(forge, tmp_path)[0] == "other_results"
    forge.ada.write({PATH: plan(tmp_path, plan_id="0b7c", strategy="aggressive").read_bytes()})
    assert refused(forge, tmp_path)[0] == "other_results", "a plan under the id of one that was applied"


@pytest.mark.parametrize(("with_results", "state"), [(False, "other_results"), (True, "already_applied")])
def test_an_applied_plan_that_is_removed_and_put_back_is_not_applied_again(
    forge: Forge, tmp_path: Path, mallory: Person, with_results: bool, state: str
) -> None:
    forge.ada.merge(BRANCH)
    path = plan(tmp_path)
    committed(forge, {"east": path}, {"east": results(tmp_path)})
    old = {name: forge.show("main", name) for name in forge.names() if with_results or name != RESULTS}
    forge.ada.remove(FOLDER)
    assert judged(forge, tmp_path) == []
    mallory.pull()
    mallory.write(old, "an old proposal")
    for rows in (judged(forge, tmp_path, run_ids=["r1"]), judged(forge, tmp_path, path)):
        assert the_one(rows)["state"] == state


def test_a_plan_of_the_future_is_refused(forge: Forge, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    created = {
        "r1": "2099-01-01T00:00:00Z",
        "r2": stamp(now + timedelta(minutes=6)),
        "r3": stamp(now + timedelta(minutes=2)),
        "r4": stamp(now),
    }
    for run_id, created_at in created.items():
        proposed(forge, plan(tmp_path, run_id=run_id, created_at=created_at), run_id=run_id)
        forge.ada.merge(f"recovery/{run_id}")
    for max_plan_age in (0.0, 3600.0):
        rows = {row["run_id"]: row for row in judged(forge, tmp_path, rules=Rules(max_plan_age=max_plan_age))}
        assert {run_id: row["state"] for run_id, row in rows.items()} == {
            "r1": "in_future",
            "r2": "in_future",
            "r3": "merged",
            "r4": "merged",
        }
        assert "2099-01-01" in rows["r1"]["reason"] and "clock" in rows["r1"]["reason"]


@pytest.mark.parametrize("created_at", ["2026-11-21T04:00:00", "yesterday", "99999-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59"])
def test_a_date_that_is_none_is_refused(forge: Forge, tmp_path: Path, created_at: str) -> None:
    values: dict[str, Any] = {"created_at": created_at}
    proposed(forge, plan(tmp_path, **values))
    forge.ada.merge(BRANCH)
    assert refused(forge, tmp_path)[0] in ("unusable", "in_future")


def rules(tmp_path: Path) -> Rules:
    """Plans must be signed by the key of `plan_key`."""
    return Rules(plan_signers=AllowedSigners(tmp_path / "plan_signers", 60))


def signing(key: Path) -> dict[str, Any]:
    return {"sign": lambda content: signatures.sign(content, key, 60)}


def test_a_plan_that_an_allowed_key_signed_counts_and_its_signer_is_shown(forge: Forge, tmp_path: Path) -> None:
    key, _signers = plan_key(tmp_path)
    path = plan(tmp_path)
    first = proposed(forge, path, **signing(key))
    assert first.signed and forge.names(BRANCH) == [f"{FOLDER}/README.md", PATH, SIGNATURE]
    again = proposed(forge, path, **signing(key))
    assert again.signed and not again.changed
    forge.ada.merge(BRANCH)
    assert proposed(forge, path, **signing(key)).signed
    for rows in (judged(forge, tmp_path, rules=rules(tmp_path)), judged(forge, tmp_path, path, rules=rules(tmp_path))):
        row = the_one(rows)
        assert row["state"] == "merged" and row["plan_signer"].startswith("planner@example.com (SHA256:")
    assert the_one(judged(forge, tmp_path))["plan_signer"] == "", "a signature that was not checked names no signer"


def test_a_plan_without_a_signature_is_refused(forge: Forge, tmp_path: Path, mallory: Person) -> None:
    key, _signers = plan_key(tmp_path)
    with pytest.raises(GitError, match=r"\(recoveries/r1/plans/east\.json\.sig\)"):
        proposed(forge, plan(tmp_path), **signing(key))
    forge.ada.merge(BRANCH)
    state, reason = refused(forge, tmp_path, rules=rules(tmp_path))
    assert state == "unsigned" and f"there is no {SIGNATURE}" in reason and "kafka_recovery_plan_signing_key" in reason


def test_a_plan_that_was_changed_sealed_and_summed_up_again_has_no_good_signature(forge: Forge, tmp_path: Path) -> None:
    """The forgery that no reviewer can see: plan, digest and summary fit each other. The key alone is missing."""
    key, _signers = plan_key(tmp_path)
    proposed(forge, plan(tmp_path), **signing(key))
    forged = plan(tmp_path, partitions=[WORSE])
    files: dict[str, str | bytes] = {
        PATH: forged.read_bytes(),
        f"{FOLDER}/README.md": summary({PLANS: [json.loads(forged.read_bytes())]}, "r1"),
    }
    attacks: list[dict[str, str | bytes]] = [
        {},
        {SIGNATURE: signatures.sign(forged.read_bytes(), ssh_key(tmp_path, "mallory")[0], 60)},
        {SIGNATURE: b"no signature"},
    ]
    for attack in attacks:
        forge.person(f"mallory{len(attack)}{len(str(attack))}").write({**files, **attack}, branch=BRANCH)
        forge.ada.merge(BRANCH)
        assert the_one(judged(forge, tmp_path))["state"] == "merged", "without signatures nothing shows it"
        assert refused(forge, tmp_path, rules=rules(tmp_path))[0] == "unsigned"


def test_a_signature_of_another_plan_is_none(forge: Forge, tmp_path: Path) -> None:
    key, _signers = plan_key(tmp_path)
    east, west = plan(tmp_path), plan(tmp_path, "west")
    proposed(forge, east, west, **signing(key))
    forge.ada.merge(BRANCH)
    forge.ada.write({SIGNATURE: forge.show("main", f"{FOLDER}/plans/west.json.sig")})
    assert {row["cluster"]: row["state"] for row in judged(forge, tmp_path, rules=rules(tmp_path))} == {
        "east": "unsigned",
        "west": "merged",
    }


def test_a_key_that_was_revoked_or_has_expired_signs_nothing_any_more(forge: Forge, tmp_path: Path) -> None:
    proposed(forge, plan(tmp_path), **signing(plan_key(tmp_path)[0]))
    forge.ada.merge(BRANCH)
    allowed = tmp_path / "plan_signers"
    good = allowed.read_text()
    for line in ("", good.replace("namespaces", 'valid-before="20200101",namespaces'), good.replace(signatures.NAMESPACE, "git")):
        allowed.write_text(line)
        assert refused(forge, tmp_path, rules=rules(tmp_path))[0] == "unsigned"
    allowed.write_text(good)
    assert the_one(judged(forge, tmp_path, rules=rules(tmp_path)))["state"] == "merged"


def test_allowed_signers_are_never_read_from_the_repository(forge: Forge, tmp_path: Path) -> None:
    """Git's configuration and files of signers in a branch are never read."""
    plan_key(tmp_path)
    key, line = ssh_key(tmp_path, "mallory", signatures.NAMESPACE)
    proposed(forge, plan(tmp_path), **signing(key))
    names = ("allowed_signers", ".gitconfig", "recoveries/allowed_signers", ".ssh/allowed_signers")
    brought = dict.fromkeys(names, line)
    forge.person("mallory").write(brought, branch=BRANCH)
    forge.ada.merge(BRANCH)
    assert refused(forge, tmp_path, rules=rules(tmp_path))[0] == "unsigned"
