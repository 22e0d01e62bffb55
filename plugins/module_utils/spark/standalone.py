# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters of Spark: their authentication, and work that gets no executor of a standalone one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

with suppress(ImportError):  # common.optional_imports names what is missing
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.options import CONF, SECRET_CONF

STANDALONE = "spark://"
AUTHENTICATE, SECRET = "spark.authenticate", "spark.authenticate.secret"
# Spark waits without limit for a worker that gives it an executor.
EXECUTOR_SECONDS = 60.0


def is_standalone(master: str) -> bool:
    """Return whether a master URL names a standalone cluster."""
    return master.startswith(STANDALONE)


def need_authentication(master: str, conf: Mapping[str, str], secrets: Mapping[str, str]) -> None:
    """Raise RecoveryError if the driver of a cluster would accept peers without a secret, and `conf` does not accept that explicitly.

    A user who reaches the ports of such a driver can run code as the user of this process. An explicit `spark.authenticate: false` accepts it.
    YARN and Kubernetes make the secret by themselves.
    """
    settings = {**conf, **secrets}
    chosen = settings.get(AUTHENTICATE, "").lower()
    if master.startswith("local") or chosen == "false" or (chosen == "true" and (settings.get(SECRET) or not is_standalone(master))):
        return
    secret = f" and {SECRET} in {SECRET_CONF}, as on that cluster" if is_standalone(master) else ""
    raise RecoveryError(
        f"spark_master: the driver for {master} would accept every peer: set {AUTHENTICATE}: true in {CONF}{secret}. If only trusted users reach "
        f"both, set {AUTHENTICATE}: false"
    )


@contextmanager
def executors(spark: SparkSession, master: str) -> Iterator[None]:
    """Cancel the work with RecoveryError if a standalone cluster has no executor for EXECUTOR_SECONDS."""
    if not is_standalone(master):
        yield
        return
    ended, missed = threading.Event(), threading.Event()
    context = spark.sparkContext
    tracker = context.statusTracker()

    def watch() -> None:
        seen = time.monotonic()
        with suppress(Py4JError, ConnectionError):
            while not ended.wait(1.0):
                stages = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage)) is not None]
                # A stage of which no task runs waits for an executor.
                if not stages or any(stage.numActiveTasks for stage in stages):
                    seen = time.monotonic()
                elif time.monotonic() - seen > EXECUTOR_SECONDS:
                    missed.set()
                    context.cancelAllJobs()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        if not missed.is_set():
            raise
        raise RecoveryError(
            f"spark_master: {master} has had no executor for this work for {EXECUTOR_SECONDS:g} s: look at its workers, and check that they have the "
            "memory that spark.executor.memory requests"
        ) from error
    finally:
        ended.set()
        watcher.join()
