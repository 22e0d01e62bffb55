# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of docs/ranking.md: Kafka's own scripts, and nothing of this collection, lose records that a consumer has read."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from integration.support import CHECKOUT

from rig import jars, java
from rig.ports import PortBlock

SECONDS = 900
# Jars have no scripts. These call the classes that those of a release call.
SCRIPTS = {
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-server-start": "kafka.Kafka",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("history", "right", "wrong", "lost"),
    [
        ("fork", "last offset 29, last written in leader epoch [1-9]", "last offset 89, last written in leader epoch 0", 20),
        ("figure_8", "last offset 14, last written in leader epoch 0", "last offset 12, last written in leader epoch 1", 5),
    ],
)
def test_committed_records_are_lost(tmp_path: Path, history: str, right: str, wrong: str, lost: int) -> None:
    folder = tmp_path / "kafka" / "bin"
    folder.mkdir(parents=True)
    logging = java.logging_options(tmp_path / "tools.log", "warn")
    for name, main_class in SCRIPTS.items():
        script = folder / f"{name}.sh"
        script.write_text(f'#!/bin/sh\nexec {shlex.join(java.command(jars.libs(), main_class, jvm_options=["-Xmx256m", *logging]))} "$@"\n')
        script.chmod(0o755)
    ports = PortBlock()
    try:
        done = subprocess.run(
            [CHECKOUT / "extensions/histories/lost_by_ranking.sh", history],
            capture_output=True, text=True, check=False, timeout=SECONDS,
            env={**os.environ, "KAFKA_HOME": str(folder.parent), "FIRST_PORT": str(ports.take()), "TMPDIR": str(tmp_path)},
        )  # fmt: skip
    finally:
        ports.release()
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    for text in (f"broker 1: {right}", f"broker 3: {wrong}", f"{lost} are gone:"):
        assert re.search(text, done.stdout), said
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("tmp.")], "the script removes what it wrote"
