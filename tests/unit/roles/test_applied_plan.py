# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan that apply_merged applies: the copy on this machine that was verified, and no file that others may write in the store of a workdir."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from repository_root import ROOT
from role_plays import local_play, played

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.mount import shared_folder

pytestmark = pytest.mark.slow
URL = "s3://bucket/fleet"


def test_the_verified_copy_is_applied(tmp_path: Path) -> None:
    (first, *_others) = yaml.safe_load((ROOT / "playbooks/tasks/apply_recovery.yml").read_text())
    workdirs = {"local": ("/srv/recovery", Path("/srv/recovery")), "stored": (URL, shared_folder(URL))}
    copies = {name: str(folder / f"merged/r1/{name}.json") for name, (_workdir, folder) in workdirs.items()}
    plans = [{"plan": copy, "cluster": name, "run_id": "r1", "state": "merged"} for name, copy in copies.items()]
    shared = {
        "kafka_recovery_recovery": "r1",
        "kafka_recovery_merged_files": plans,
        "kafka_recovery_approvals": {"plans": plans, "revivals": [], "replays": [], "moves": []},
    }
    hosts = {name: {"kafka_recovery_workdir_path": workdir, **shared} for name, (workdir, _folder) in workdirs.items()}
    show = {"ansible.builtin.debug": {"msg": "{{ kafka_recovery_plan_path }} {{ kafka_recovery_approved_plan }}"}}
    done = played(local_play(tmp_path, hosts, [first, show]))
    assert all(f"{copy} {copy}" in done[name].text for name, copy in copies.items()), done
