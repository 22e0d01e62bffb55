# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks that work in batches, after the first batch, one cluster, has failed: Ansible begins no other batch, and the last message says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from repository_root import ROOT

INVENTORY = """[kafka_clusters]
east kafka_bootstrap_servers=127.0.0.1:1 kafka_request_timeout=1 kafka_recovery_spark_remote=sc://127.0.0.1:1 {wrong}
west kafka_bootstrap_servers=127.0.0.1:1 kafka_recovery_spark_remote=sc://127.0.0.1:1
south kafka_bootstrap_servers=127.0.0.1:1 kafka_recovery_spark_remote=sc://127.0.0.1:1
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("playbook", "wrong", "cause"),
    [
        ("recover", "", "127.0.0.1:1"),
        pytest.param("apply", "", "127.0.0.1:1", marks=pytest.mark.long),
        pytest.param("apply_merged", "kafka_recovery_strategi=none", "kafka_recovery_strategi", marks=pytest.mark.long),
        pytest.param("reassign", "", "127.0.0.1:1", marks=pytest.mark.long),
    ],
)
def test_the_last_message_names_the_clusters_that_are_not_begun(playbook: str, wrong: str, cause: str, tmp_path: Path) -> None:
    (tmp_path / "inventory.ini").write_text(INVENTORY.format(wrong=wrong))
    for name in ("east", "west", "south"):
        (tmp_path / f"{name}.json").write_text("{}")
    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path / "ops.git"], check=True)
    (tmp_path / "signers").write_text("planner@example.com ssh-ed25519 AAAA\n")
    variables = ["workdir=work", "serial=1,100%", f"plan_dir={tmp_path}"]
    variables += [
        f"git_repository={tmp_path}/ops.git",
        f"plan_signers={tmp_path}/signers",
        "git_author_name=me",
        "git_author_email=me@example.com",
    ]
    given = [argument for variable in variables for argument in ("-e", f"kafka_recovery_{variable}")]
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), f"streamops.kafka_recovery.{playbook}", "-i", "inventory.ini", *given],
        capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache/collections")},
    )  # fmt: skip
    assert done.returncode == 2 and cause in done.stdout, done.stdout + done.stderr
    last = done.stdout.rpartition("PLAY RECAP")[0].rpartition("TASK [")[2]
    assert "west, south are not begun" in last and "run again" in last and "--limit 'kafka_clusters:!east'" in last, done.stdout
