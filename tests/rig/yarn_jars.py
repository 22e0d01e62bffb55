"""The jars of Hadoop's YARN, as one process runs it for tests (MiniYARNCluster), from Maven Central. PySpark has the rest: Hadoop's client, Netty, logging."""

from pathlib import Path

from rig import jars
from rig.errors import RigError
from rig.s3a_jars import hadoop_version

BOUNCY_CASTLE, JUNIT, JUNIT_PLATFORM, OPENTEST = "1.78.1", "5.12.2", "1.12.2", "1.3.0"


def _rows(version: str) -> list[tuple[str, str, str]]:
    return [
        ("org.apache.hadoop", "hadoop-client-minicluster", version),
        *(("org.bouncycastle", f"{name}-jdk18on", BOUNCY_CASTLE) for name in ("bcprov", "bcpkix", "bcutil")),
        # Its classes call assertions.
        ("org.junit.jupiter", "junit-jupiter-api", JUNIT),
        ("org.junit.platform", "junit-platform-commons", JUNIT_PLATFORM),
        ("org.opentest4j", "opentest4j", OPENTEST),
    ]


def yarn() -> Path:
    """Directory with the jars, downloaded on first use (about 65 MB)."""
    version = hadoop_version()

    def download(where: Path) -> None:
        if jars.chosen_tool() == "maven":
            rows = [
                f"<dependency><groupId>{g}</groupId><artifactId>{a}</artifactId><version>{v}</version></dependency>"
                for g, a, v in _rows(version)
            ]
            jars.run_maven(
                where, rows, ["dependency:copy-dependencies", "-DexcludeTransitive=true", f"-DoutputDirectory={where / 'libs'}"], version
            )
        else:
            rows = [f'<dependency org="{g}" name="{a}" rev="{v}" transitive="false"/>' for g, a, v in _rows(version)]
            jars.run_ivy(where, rows, ["-retrieve", f"{where}/libs/[artifact]-[revision].[ext]"], version)
        if missing := [a for _g, a, v in _rows(version) if not (where / "libs" / f"{a}-{v}.jar").is_file()]:
            raise RigError(f"{', '.join(missing)} of YARN were not downloaded")

    return jars.cached(f"yarn-{version}", download)
