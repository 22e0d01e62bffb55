# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wherever Spark runs (embedded, behind Spark Connect, on a standalone cluster), the same landing files give the same plans."""

from __future__ import annotations

import json
import random
import socket
import stat
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import py4j
import pyspark
import pytest
from integration.spark import standalone
from integration.support import Answer, failure, run_module
from unit.partition_situations import RUN, broker_rows, land, random_situations

MISSING = "is missing for the Python of Spark's workers"
AGGRESSIVE = "-forced"  # the end of topics with that strategy
VOLATILE = ("plan_id", "created_at", "sha256")
# What a server has by itself: generated code, and planning again between stages.
USUAL = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK", "spark.sql.adaptive.enabled": "true"}
STANDALONE = "from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import standalone\n"


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    """Landing files of two clusters, with 200 partitions each in all kinds of situations: each is there again in a topic with the strategy aggressive."""
    for seed, cluster in enumerate(("east", "west")):
        situations = random_situations(random.Random(seed), 200)
        situations += [replace(case, topic=f"{case.topic}{AGGRESSIVE}") for case in situations]
        land(tmp_path, cluster, [*broker_rows(7, {7: 3.5}), *(row for case in situations for row in case.rows())])
    return tmp_path


def options(workdir: Path, **more: Any) -> dict[str, Any]:
    """Options of kafka_recovery_plan: one plan has partitions of both strategies."""
    topics = {f"{topic}{AGGRESSIVE}": "aggressive" for topic in ("orders", "payments", "__transaction_state")}
    return {"workdir": str(workdir), "run_id": RUN, "strategy": "balanced", "topic_strategies": topics, **more}


def planned(workdir: Path, **more: Any) -> dict[str, Any]:
    """The plans without what differs from run to run, and the summary."""
    answer = run_module("kafka_recovery_plan", options(workdir, **more))
    assert answer.returncode == 0, answer
    assert answer.stderr == "", "Spark's own noise"
    plans = {plan["cluster"]: json.loads(Path(plan["path"]).read_text()) for plan in answer.result["plans"]}
    return {
        **{name: {key: value for key, value in plan.items() if key not in VOLATILE} for name, plan in plans.items()},
        "summary": answer.result["summary"],
    }


def one_line(answer: Answer) -> str:
    """The error of a module that had to fail: one line, and nothing of Spark around it."""
    assert answer.returncode == 1 and answer.msg and "\n" not in answer.msg, answer
    assert answer.stderr == "", answer.stderr
    return answer.msg


@pytest.mark.long
def test_embedded_connect_and_standalone_agree(workdir: Path, spark_remote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    embedded = planned(workdir)
    elected = Counter(entry["topic"].endswith(AGGRESSIVE) for cluster in ("east", "west") for entry in embedded[cluster]["partitions"])
    assert embedded["summary"]["clusters"] == 2 and elected[True] > elected[False] > 100, elected
    assert planned(workdir, spark_remote=spark_remote) == embedded
    assert planned(workdir, spark_remote=spark_remote, spark_conf=USUAL) == embedded
    with standalone(workdir) as cluster:
        authenticated = {"spark_master": cluster.master, "spark_conf": cluster.conf, "spark_secret_conf": cluster.secret_conf}
        assert planned(workdir, **authenticated) == embedded
        # Executors did the work: files that only they read, being of the same user.
        (executor,) = cluster.works[0].glob("app-*/*/stderr")
        assert "Running task 0.0 in stage" in executor.read_text()
        assert {stat.S_IMODE(file.stat().st_mode) for file in (workdir / "landing" / RUN).iterdir()} == {0o600}
        refused = one_line(run_module("kafka_recovery_plan", options(workdir, spark_master=cluster.master)))
        assert f"the driver for {cluster.master} would accept every peer" in refused
        stranger = {**authenticated, "spark_secret_conf": {"spark.authenticate.secret": "guessed"}}
        assert "guessed" not in one_line(run_module("kafka_recovery_plan", options(workdir, **stranger)))
        # The worker is lost before it has begun.
        lost = STANDALONE + "standalone.EXECUTOR_SECONDS = 2.0"
        cluster.worker().kill()
        said = one_line(run_module("kafka_recovery_plan", options(workdir, **authenticated), before=lost))
    assert f"spark_master: {cluster.master} has had no executor for this work for 2 s: look at its workers" in said
    # What was planned before stands.
    assert len(list((workdir / "plans" / RUN).glob("*.json"))) == 2


def test_a_server_that_cannot_see_the_workdir_is_an_error(workdir: Path, spark_remote: str) -> None:
    """As from another host: the landing files are gone from where Spark looks for them once the module has checked them."""
    landing = workdir / "landing" / RUN
    before = f"""
from pathlib import Path
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import plan_files
write_plans = plan_files.write_plans
def elsewhere(*given):
    Path({str(landing)!r}).rename({str(landing.with_name("elsewhere"))!r})
    return write_plans(*given)
plan_files.write_plans = elsewhere
"""
    given = {"workdir": str(workdir), "run_id": RUN, "spark_remote": spark_remote}
    assert "the workdir must be readable under the same path on every Spark host" in failure("kafka_recovery_plan", given, before=before)
    assert not list((workdir / "plans" / RUN).iterdir())


@contextmanager
def something_else() -> Iterator[int]:
    """A port where a server speaks something that is no gRPC."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def speak() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    client.sendall(b"220 mail.example.com ESMTP\r\n")

        speaker = threading.Thread(target=speak)
        speaker.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            speaker.join()


def test_a_server_with_another_protocol_or_token_is_an_error(workdir: Path, spark_remote: str) -> None:
    quick = "from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import connect_client\nconnect_client.CONNECT_SECONDS = 1.0"
    with something_else() as port:
        said = one_line(run_module("kafka_recovery_plan", options(workdir, spark_remote=f"sc://localhost:{port}"), before=quick))
    assert f"spark_remote: what answers on localhost:{port} does not speak Spark Connect" in said
    stranger = {"SPARK_CONNECT_AUTHENTICATE_TOKEN": "guessed"}
    said = one_line(run_module("kafka_recovery_plan", options(workdir, spark_remote=spark_remote), environment=stranger))
    assert f"spark_remote: the Spark Connect server {spark_remote} wants another token" in said
    assert "guessed" not in said
    by_address = spark_remote.replace("localhost", "127.0.0.1")
    assert planned(workdir, spark_remote=by_address) == planned(workdir, spark_remote=spark_remote)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        pytest.param("bare", f"PySpark {MISSING}", marks=pytest.mark.long),
        pytest.param("python", f"pyarrow {MISSING}", marks=pytest.mark.long),
        pytest.param("no-python", "cannot run", marks=pytest.mark.long),
    ],
)
def test_workers_without_the_right_python_are_an_error(workdir: Path, place: str, message: str) -> None:
    """As workers on another host: the module believes that it is run by another Python."""
    modules = workdir / "modules"
    modules.mkdir()
    for module in (pyspark, py4j):
        (modules / module.__name__).symlink_to(Path(str(module.__file__)).parent)
    bare, python = workdir / "bare", workdir / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.write_text(f'#!/bin/sh\nexport PYTHONPATH={modules}\nexec {sys.executable} -S "$@"\n')
    for program in (bare, python):
        program.chmod(0o700)
    said = one_line(run_module("kafka_recovery_plan", options(workdir), before=f"import sys\nsys.executable = {str(workdir / place)!r}"))
    assert message in said and "PYSPARK_PYTHON" in said
    assert not list((workdir / "plans" / RUN).iterdir())


def test_no_room_for_sparks_own_files_is_an_error(workdir: Path) -> None:
    (workdir / "file").touch()
    nowhere = {"spark.local.dir": str(workdir / "file" / "below")}
    said = one_line(run_module("kafka_recovery_plan", options(workdir, spark_conf=nowhere)))
    assert "Spark has no room for its work, or may not write there" in said and "spark.local.dir" in said
    # A disk that is full as soon as a file has so many bytes.
    full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))"
    said = one_line(run_module("kafka_recovery_plan", options(workdir), before=full))
    assert "cannot write" in said and "File too large" in said
    assert not list((workdir / "plans" / RUN).glob("*.json"))
