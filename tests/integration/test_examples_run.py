# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every module's EXAMPLES, run as a play on a real cluster that has lost partitions."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from integration.support import CHECKOUT, Operator, play
from unit.git_remotes import Forge

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import NAMESPACE
from rig import Damage, Roles

# In the order of a recovery: each needs the files that the ones before it left. Modules that are not named here come after these.
FIRST = [
    "kafka_partition_info", "kafka_replica_log_info", "kafka_recovery_plan", "kafka_designated_election", "kafka_recovery_explain_info",
    "kafka_watermark_info", "kafka_log_dir_info",
]  # fmt: skip
# In the order in which redundancy is restored, while a broker is lost.
RESTORING = [
    "kafka_partition_reassignment_info",
    "kafka_redundancy_plan",
    "kafka_partition_revival",
    "kafka_partition_reassignment",
    "kafka_replication_throttle",
]
# What is done when the brokers are back.
BACK = ["kafka_leader_election"]


def constant(module: Path, name: str) -> str:
    """The value of a string constant of a module."""
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            return str(ast.literal_eval(node.value))
    raise AssertionError(f"{module} has no {name}")


def modules() -> list[Path]:
    """All but those of RESTORING and BACK."""
    found = {path.stem: path for path in (CHECKOUT / "plugins" / "modules").glob("kafka_*.py") if path.stem not in RESTORING + BACK}
    return [*(found.pop(name) for name in FIRST), *(found[name] for name in sorted(found))]


def named(names: list[str]) -> list[Path]:
    """The files of these modules."""
    return [CHECKOUT / "plugins" / "modules" / f"{name}.py" for name in names]


def signing_key(folder: Path) -> Path:
    """An SSH key in this folder."""
    path = folder / "signing_key"
    if not path.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


def allowed_signers(folder: Path, name: str) -> Path:
    """A file of this name that allows the key to sign plans."""
    path = folder / name
    path.write_text(f'planner@example.com namespaces="{NAMESPACE}" {signing_key(folder).with_suffix(".pub").read_text()}')
    return path


def run_examples(west: Operator, paths: list[Path], **variables: Any) -> None:
    """Run the examples of these modules as one play."""
    # As they stand, but for what each machine and cluster has under another name.
    replaced = {
        "/var/lib/prometheus/node-exporter": str(west.workdir),
        "/etc/kafka-recovery/signing_key": str(signing_key(west.workdir)),
        "/etc/kafka-recovery/plan_signers": str(allowed_signers(west.workdir, "plan_signers")),
        "/etc/kafka-recovery/merge_signers": str(allowed_signers(west.workdir, "merge_signers")),
        "      - /mnt/broker-1/data-2\n": "",
        "/mnt/broker-1/data-1": str(west.cluster.brokers[1].data_dir),
        "MkU3OEVBNTcwNTJENDM2Qk": west.cluster.cluster_id,
    }
    tasks: list[dict[str, Any]] = []
    for module in paths:
        text = constant(module, "EXAMPLES")
        for shown, real in replaced.items():
            text = text.replace(shown, real)
        examples = yaml.safe_load(text)
        assert any(f"streamops.kafka_recovery.{module.stem}" in task for task in examples), module
        tasks += examples
    file = west.workdir / "examples.yml"
    file.write_text(yaml.safe_dump([{"hosts": "kafka_clusters", "gather_facts": False, "tasks": tasks}], sort_keys=False))
    variables |= {
        "kafka_recovery_workdir": str(west.workdir),
        "kafka_recovery_run_id": "1",
        "kafka_recovery_spark_remote": west.spark_remote,
    }
    played = play(str(file), west.inventory(), variables=variables)
    assert played.returncode == 0, played
    assert played.recap["west"]["ok"] == len(tasks), played


@pytest.mark.long
def test_every_example_runs_as_it_stands(west: Operator) -> None:
    damage = Damage(west.cluster, Roles(returning=None))
    damage.add("lagging", 4, "orders")
    damage.inflict()
    run_examples(west, modules(), kafka_recovery_git_repository=Forge(west.workdir / "forge").url)
    assert {state.leader for state in west.cluster.describe("orders")} == {2}

    run_examples(west, named(RESTORING))
    assert {tuple(state.replicas) for state in west.cluster.describe("orders") if state.partition < 2} == {(2, 3), (3, 2)}

    west.cluster.heal()
    west.cluster.wait_for_partitions(["orders"], lambda state: len(state.isr) == len(state.replicas), "back at full strength")
    run_examples(west, named(BACK))
    assert all(state.leader == state.replicas[0] for state in west.cluster.describe("orders"))
