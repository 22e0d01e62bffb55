"""The jars with which Spark reads `s3a://`, from Maven Central: Hadoop's S3A of the Hadoop that PySpark has, and of the AWS SDK only what it needs.

Hadoop itself asks for the SDK as one bundle of 690 MB. Its parts that S3A uses are 13 MB.
"""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from rig import jars
from rig.errors import RigError

# The version of the SDK in the parent POM of Hadoop 3.5.0.
SDK = "2.35.4"
PARTS = ("s3-transfer-manager", "sts", "apache-client")
BUNDLE = ("software.amazon.awssdk", "bundle")
# Spark has these, mostly newer.
SPARKS_OWN = ("io.netty", "commons-codec", "commons-logging", "org.slf4j", "org.apache.httpcomponents")


def hadoop_version() -> str:
    """The version of Hadoop's client in the installed PySpark."""
    spec = find_spec("pyspark")
    found = sorted(Path(str(spec and spec.origin)).parent.glob("jars/hadoop-client-api-*.jar"))
    if not found:
        raise RigError("the installed PySpark has no jar of Hadoop's client: install the whole of it (pip install -r requirements-dev.txt)")
    return found[-1].stem.removeprefix("hadoop-client-api-")


def packages() -> tuple[str, str]:
    """The settings with which Spark fetches the same jars by itself: spark.jars.packages and spark.jars.excludes."""
    without = ":".join(BUNDLE), *(f"{group}:*" for group in SPARKS_OWN)
    return ",".join(map(":".join, _rows(hadoop_version()))), ",".join(without)


def s3a() -> list[Path]:
    """The jars, downloaded on first use."""
    version = hadoop_version()

    def download(where: Path) -> None:
        if jars.chosen_tool() == "maven":
            goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DexcludeGroupIds={','.join(SPARKS_OWN)}"]
            jars.run_maven(where, _for_maven(version), [*goal, f"-DoutputDirectory={where / 'libs'}"], version)
        else:
            jars.run_ivy(where, _for_ivy(version), ["-retrieve", f"{where}/libs/[artifact]-[revision].[ext]"], version)
        if not (where / "libs" / f"hadoop-aws-{version}.jar").is_file():
            raise RigError(f"hadoop-aws {version} was not downloaded")

    return sorted(jars.cached(f"s3a-{version}", download).glob("*.jar"))


def _rows(version: str) -> Iterator[tuple[str, str, str]]:
    yield "org.apache.hadoop", "hadoop-aws", version
    for part in PARTS:
        yield BUNDLE[0], part, SDK


def _for_maven(version: str) -> list[str]:
    without = f"<exclusions><exclusion><groupId>{BUNDLE[0]}</groupId><artifactId>{BUNDLE[1]}</artifactId></exclusion></exclusions>"
    return [
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{number}</version>{without}</dependency>"
        for group, name, number in _rows(version)
    ]


def _for_ivy(version: str) -> list[str]:
    without = (
        "".join(f'<exclude org="{re.escape(group)}" matcher="exact"/>' for group in SPARKS_OWN)
        + f'<exclude org="{BUNDLE[0]}" module="{BUNDLE[1]}"/>'
    )
    return [f'<dependency org="{group}" name="{name}" rev="{number}">{without}</dependency>' for group, name, number in _rows(version)]
