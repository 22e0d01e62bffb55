# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two processes write one history in an object store, and are killed again and again: no row is lost, none is there twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import islice
from pathlib import Path

import history_writer
import pytest
from history_tables import DAY, Found, found

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.catalog import Catalog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.mount import mounted
from rig.object_store import ObjectStore

WRITERS, RUNS = ("first", "second"), 200
# A writer is killed after at most so many runs, and so many seconds after the last one of these.
MOST_RUNS, MOST_SECONDS = 30, 0.5
UNIT = Path(history_writer.__file__).parent


@pytest.mark.long
def test_two_writers_that_are_killed_lose_and_double_no_row(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in object_store.environment().items():
        monkeypatch.setenv(name, value)
    url = f"s3://{object_store.bucket()}/fleet"
    with ThreadPoolExecutor(len(WRITERS)) as pool:
        kills = sum(pool.map(lambda writer: write_and_die(url, writer), WRITERS))
    print(f"{kills} kills")
    try:
        assert found(Catalog(mounted(url).root / "history")) == expected() and kills > 5
    finally:
        mounts.clear()


def write_and_die(url: str, writer: str) -> int:
    """Start a writer again and again until it has written all of its runs. Kill it at some time after some of them. Return the number of kills."""
    chance, kills = random.Random(writer), 0
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(UNIT), str(UNIT.parent), *filter(None, sys.path)])}
    argv = [sys.executable, str(UNIT / "history_writer.py"), url, writer, str(RUNS)]
    while True:
        with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stderr is not None
            wanted = chance.randint(1, MOST_RUNS)
            if len(list(islice(process.stdout, wanted))) == wanted:
                time.sleep(chance.uniform(0, MOST_SECONDS))
                process.send_signal(signal.SIGKILL)
            error = process.stderr.read().decode()
        if process.returncode == 0:
            return kills
        assert process.returncode == -signal.SIGKILL, error[-2000:]
        kills += 1


def expected() -> Found:
    """All rows, each once."""
    rows: Found = Counter()
    for writer in WRITERS:
        for number in range(RUNS):
            run, day = history_writer.run_of(writer, number), DAY + timedelta(days=number % history_writer.DAYS)
            for table, values in history_writer.rows_of(number).items():
                rows.update((table, run.cluster, day, run.run_id, value) for value in values)
    return rows
