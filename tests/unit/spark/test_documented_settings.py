# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of Spark in its guide are ones that Spark knows, also those of clusters that no test has."""

from __future__ import annotations

import re
import zipfile
from importlib.util import find_spec
from pathlib import Path

from rig import s3a_jars

GUIDE = Path(__file__).parents[3] / "docs/spark.md"
# Where the settings of the guide are defined.
JARS = ("core", "kubernetes", "yarn", "sql", "sql-api", "catalyst", "connect", "common-utils", "network-common", "launcher")
_NAME = re.compile(r"\bspark(?:\.[a-zA-Z0-9]+)+(?:\.[A-Z_]+)?\b")
_TEXT = re.compile(rb"[a-zA-Z][a-zA-Z0-9._]{2,100}")
# Hadoop's own, passed on; and files, classes and hosts.
NOT_SPARKS = ("spark.hadoop.", "spark.properties", "spark.example.com", "spark.env", "spark.md", "spark.service", "spark.deploy.")


def constants() -> set[str]:
    """All words in Spark's classes that may be a setting or a part of one."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    found: set[bytes] = set()
    for name in JARS:
        for jar in Path(spec.origin).parent.glob(f"jars/spark-{name}_*.jar"):
            with zipfile.ZipFile(jar) as archive:
                for file in archive.namelist():
                    if file.endswith(".class") and re.search(r"[Cc]onf|Utils|package|Security|Connect", file):
                        found.update(_TEXT.findall(archive.read(file)))
    return {word.decode() for word in found}


def test_spark_knows_every_setting_of_its_guide() -> None:
    known, named = constants(), {name for name in _NAME.findall(GUIDE.read_text()) if not name.startswith(NOT_SPARKS)}
    assert len([name for name in named if name.startswith("spark.kubernetes.")]) > 5

    def is_known(name: str) -> bool:
        # A prefix and what follows it are two constants: spark.kubernetes.authenticate and oauthTokenFile. After spark.kubernetes.executor.secretKeyRef.
        # any name may follow.
        parts = name.split(".")
        heads = [(".".join(parts[:place]), ".".join(parts[place:])) for place in range(2, len(parts))]
        return name in known or any(f"{head}." in known or (head in known and rest in known) for head, rest in heads)

    assert {name for name in named if not is_known(name)} == set()


def test_the_jars_of_the_guide_are_those_of_the_tests() -> None:
    packages, excludes = s3a_jars.packages()
    lines = [line.strip() for line in GUIDE.read_text().splitlines()]
    assert f"spark.jars.packages: {packages}" in lines and f"spark.jars.excludes: {excludes}" in lines
