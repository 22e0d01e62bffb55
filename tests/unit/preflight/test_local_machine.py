# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine needs for a play: each thing that is missing is named with the remedy, and nothing is changed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.java import java_problem, java_version
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import local_machine


def java(folder: Path, version: str, release: bool) -> Path:
    """A home of a Java that says this version, in a file or when it is started."""
    (folder / "bin").mkdir(parents=True)
    path = folder / "bin/java"
    path.write_text("#!/bin/sh\nexit 3\n" if release else f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    path.chmod(0o755)
    if release:
        (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder


@pytest.mark.parametrize("release", [True, False], ids=["its file", "its answer"])
@pytest.mark.parametrize(("version", "feature"), [("1.8.0_392", 8), ("11.0.20", 11), ("17.0.15", 17), ("21", 21)])
def test_a_java_that_is_too_old_is_named(tmp_path: Path, version: str, feature: int, release: bool) -> None:
    home = java(tmp_path / "jdk", version, release)
    assert java_version(home / "bin/java") == feature
    for environment in ({"JAVA_HOME": str(home)}, {"PATH": str(home / "bin")}):
        problem = java_problem(environment)
        assert (problem is None) == (feature >= 17)
        assert problem is None or f"{home}/bin/java is Java {feature}; install a newer one" in problem


def test_no_java_is_named_with_the_variable_that_does_without(tmp_path: Path) -> None:
    (text,) = local_machine.java_problems({"PATH": str(tmp_path)})
    assert "Spark needs Java 17 or newer, and there is none" in text and "kafka_recovery_spark_remote" in text
    (text,) = local_machine.java_problems({"JAVA_HOME": str(tmp_path)})
    assert f"JAVA_HOME is {tmp_path}, which has no bin/java" in text


@pytest.mark.parametrize(
    ("roles", "remote", "needed"),
    [
        (["snapshot", "plan", "elect"], None, True),
        (["report"], "", True),
        (["plan"], "sc://spark:15002", False),
        (["elect", "verify"], "", False),
        (["watch"], None, False),
    ],
)
def test_java_is_needed_where_spark_starts_here(roles: list[str], remote: str | None, needed: bool) -> None:
    assert local_machine.java_needed(roles, remote) is needed


def requirements(folder: Path, *lines: str) -> Path:
    (folder / "requirements.txt").write_text("\n".join(["# why", *lines]) + "\n")
    return folder


def test_a_library_that_is_missing_or_of_another_version_is_named(tmp_path: Path) -> None:
    root = requirements(tmp_path, "kafka-python>=99  # newer", "pyspark[connect]>=4.3", "pygal-nowhere", "pygal<1")
    texts = list(local_machine.library_problems(["plan", "report"], root))
    assert [re.split(" (?:has|is not)", text)[0] for text in texts] == ["kafka-python", "pygal"]
    assert "and kafka-python>=99 is needed: pip install -r" in texts[0]
    assert list(local_machine.library_problems(["report"], requirements(tmp_path, "kafka-python>=99"))) == [], "it asks no broker"
    assert list(local_machine.library_problems([], requirements(tmp_path, "kafka-python>=99"))), "a play of which no role is known"


def test_the_dependencies_of_a_library_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"pyspark": "4.3.0", "pyarrow": "17.0"}
    monkeypatch.setattr(metadata, "version", lambda name: versions.get(name, "999"))
    monkeypatch.setattr(metadata, "requires", lambda _name: ['pyarrow>=18.0.0; extra == "connect"', 'torch; extra == "ml"'])
    (text,) = local_machine.library_problems(["plan"], requirements(tmp_path, "pyspark[connect]>=4.3,<4.4"))
    assert text.startswith("pyarrow has version 17.0") and "pyarrow>=18.0.0 is needed" in text


@pytest.mark.parametrize("role", sorted(local_machine.SPARK_ROLES))
def test_every_role_with_spark_needs_the_pandas_and_the_psutil_of_the_requirements(role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"pandas": "3.0.1", "psutil": "5.9"}
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: versions.get(name) or real(name))
    texts = list(local_machine.library_problems([role]))
    assert [text.partition(" for ")[0] for text in texts] == ["pandas has version 3.0.1", "psutil has version 5.9"]
    assert "pandas<3,>=2.2 is needed" in texts[0]


def test_a_library_that_another_one_needs_too_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "1.0" if name == "pandas" else real(name))
    assert [text.partition(" for ")[0] for text in local_machine.library_problems(["plan"])] == ["pandas has version 1.0"]


def test_what_is_installed_here_is_enough_for_every_role() -> None:
    roles = {role for needing in local_machine.NEEDED_BY.values() for role in needing} | {"elect"}
    assert list(local_machine.library_problems(roles)) == []


def one(texts: Iterable[str]) -> str:
    (text,) = texts
    return text


def test_a_workdir_is_judged_and_not_made(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    file, link, open_to_all = tmp_path / "file", tmp_path / "link", tmp_path / "open"
    file.write_text("")
    link.symlink_to(tmp_path)
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    assert list(local_machine.workdir_problems(tmp_path / "new" / "deep")) == []
    assert not (tmp_path / "new").exists()
    assert list(local_machine.workdir_problems(tmp_path)) == []
    assert "it is not a directory" in one(local_machine.workdir_problems(file))
    assert f"cannot be made, because {file} is a file" in one(local_machine.workdir_problems(file / "below"))
    assert "is a symbolic link" in one(local_machine.workdir_problems(link))
    assert "chmod go-w" in one(local_machine.workdir_problems(open_to_all))
    assert "kafka_recovery_workdir: cannot write in /proc" in one(local_machine.workdir_problems(Path("/proc"))), "not even root"
    assert "kafka_recovery_workdir: /proc/new/deep cannot be made, because nothing can be written in /proc (" in one(
        local_machine.workdir_problems(Path("/proc/new/deep"))
    ), "permissions alone do not show that"


@pytest.mark.parametrize(
    "workdir",
    ["s3a://box/team", "file:///var/lib/team", "S3://box/team", " s3://box/team", "s3:/box/team", "s3:box/team", "s3://", "s3:///team"],
)
def test_a_url_that_names_no_folder_of_a_store_is_not_taken_for_a_path(workdir: str) -> None:
    assert "is not the URL of a folder in an object store" in one(local_machine.store_problems(workdir))


@pytest.mark.parametrize("workdir", ["", "/var/lib/team:1", "team", "./s3:team", "~/team"])
def test_paths_are_not_taken_for_urls_of_a_store(workdir: str) -> None:
    assert list(local_machine.store_problems(workdir)) == []


def test_a_file_of_partitions_is_read(tmp_path: Path) -> None:
    text = one(local_machine.partitions_file_problems(tmp_path / "none.json"))
    assert (
        text.startswith(f"kafka_recovery_partitions_file {tmp_path}/none.json cannot be read: No such file") and "name a JSON file" in text
    )
    (tmp_path / "some.json").write_text('{"partitions": [{"topic": "a", "partition": 0}, {"topic": "a", "partitions": [0]}]}')
    assert "is named twice" in one(local_machine.partitions_file_problems(tmp_path / "some.json"))


def test_a_directory_of_plans_is_named(tmp_path: Path) -> None:
    def text(given: str, path: Path | None) -> str:
        return one(local_machine.plan_dir_problems(given, path, ["east", "west"]))

    assert "name the directory with -e kafka_recovery_plan_dir=DIR" in text("", None)
    assert f"kafka_recovery_plan_dir is plans ({tmp_path}/none), and there is no such directory" in text("plans", tmp_path / "none")
    (tmp_path / "file").write_text("")
    assert f"{tmp_path}/file, which is not a directory" in text(str(tmp_path / "file"), tmp_path / "file")
    assert f"kafka_recovery_plan_dir is {tmp_path}, and it has no CLUSTER.json for any of east, west" in text(str(tmp_path), tmp_path)
    (tmp_path / "east.json").mkdir()
    assert f"{tmp_path}/east.json cannot be read" in text(str(tmp_path), tmp_path)
    (tmp_path / "east.json").rmdir()
    (tmp_path / "east.json").write_text("{}")
    assert list(local_machine.plan_dir_problems(str(tmp_path), tmp_path, ["east", "west"])) == []
