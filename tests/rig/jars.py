"""Jars of Kafka, of its tests, and of s3proxy from Maven Central, by version, in a cache that every checkout of a user shares."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from rig.errors import RigError
from rig.java import find_java

DEFAULT_VERSION = "4.3.1"
SLF4J_VERSION = "1.7.36"  # the slf4j-api that Kafka 3.9 to 4.4 bring along; without a binding broker logs stay empty
S3PROXY_VERSION, S3PROXY_CLASSIFIER = "4.1.0", "jar-with-dependencies"
DOWNLOAD_SECONDS = 900

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>rig</groupId><artifactId>kafka-jars</artifactId><version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
IVY = """<ivy-module version="2.0">
  <info organisation="rig" module="kafka-jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""


def default_version() -> str:
    """KAFKA_VERSION of the environment, else the version that the project is developed against."""
    return os.environ.get("KAFKA_VERSION") or DEFAULT_VERSION


def cache_root() -> Path:
    """KAFKA_RECOVERY_CACHE, else the user's cache directory."""
    named = os.environ.get("KAFKA_RECOVERY_CACHE")
    if named:
        return Path(named).expanduser().resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "streamops-kafka-recovery"


def libs(version: str | None = None, with_tool: str | None = None, say: Callable[[str], None] = lambda line: None) -> Path:
    """Directory with the jars of a Kafka version, downloaded on first use.

    `with_tool` is "maven" or "ivy"; by default Maven where `mvn` is installed, else the Ivy jar inside PySpark.
    Processes that ask at the same time wait for one download. Raises RigError when the download fails.
    """
    version = version or default_version()
    tool = chosen_tool(with_tool)

    def download(where: Path) -> None:
        say(f"downloading Kafka {version} from Maven Central with {tool} (about 80 MB, once)")
        {"maven": _with_maven, "ivy": _with_ivy}[tool](version, where)
        _check(version, where / "libs", tool)
        _keep_one_binding(where / "libs")

    return cached(f"kafka-{version}", download)


def s3proxy(with_tool: str | None = None, say: Callable[[str], None] = lambda line: None) -> Path:
    """Directory with the one jar of s3proxy, an S3 server, downloaded on first use. Parameters and errors are those of `libs`."""
    return _one_jar("org.gaul", "s3proxy", S3PROXY_VERSION, S3PROXY_CLASSIFIER, 55, with_tool, say)


def tiered_storage(version: str | None = None, with_tool: str | None = None, say: Callable[[str], None] = lambda line: None) -> Path:
    """Directory with the one jar of Kafka's own tests that has LocalTieredStorage, remote storage in a folder (KIP-405), downloaded on first use.

    Parameters and errors are those of `libs`.
    """
    return _one_jar("org.apache.kafka", "kafka-storage", version or default_version(), "test", 1, with_tool, say)


def _one_jar(
    group: str, name: str, version: str, classifier: str, megabytes: int, with_tool: str | None, say: Callable[[str], None]
) -> Path:
    """Directory with one jar that has a classifier, without what it depends on."""
    tool = chosen_tool(with_tool)
    of_maven = ("groupId", group), ("artifactId", name), ("version", version), ("classifier", classifier)
    row = f"<dependency>{''.join(f'<{tag}>{value}</{tag}>' for tag, value in of_maven)}</dependency>"
    artifact = f'xmlns:m="http://ant.apache.org/ivy/maven" name="{name}" type="jar" ext="jar" m:classifier="{classifier}"'
    of_ivy = f'<dependency org="{group}" name="{name}" rev="{version}" transitive="false"><artifact {artifact}/></dependency>'

    def download(where: Path) -> None:
        say(f"downloading {name} {version} from Maven Central with {tool} (about {megabytes} MB, once)")
        if tool == "maven":
            goal = ["dependency:copy-dependencies", "-DexcludeTransitive=true", f"-DoutputDirectory={where / 'libs'}"]
            run_maven(where, [row], goal, version)
        else:
            run_ivy(where, [of_ivy], ["-retrieve", f"{where}/libs/[artifact]-[revision](-[classifier]).[ext]"], version)
        if not [*(where / "libs").glob(f"{name}-*.jar")]:
            raise RigError(f"{tool} reported success but did not bring {name} {version}")

    return cached(f"{name}-{version}", download)


def cached(name: str, download: Callable[[Path], None]) -> Path:
    """Directory `libs` of that name in the cache. `download` makes it in the directory that it gets, if it is missing."""
    home = cache_root() / name
    target = home / "libs"
    if target.is_dir():
        return target
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            with tempfile.TemporaryDirectory(prefix="download-", dir=home) as scratch:
                download(Path(scratch))
                Path(scratch, "libs").rename(target)
    return target


def chosen_tool(named: str | None = None) -> str:
    """The tool that was named, else "maven" where `mvn` is installed, else "ivy"."""
    return named or ("maven" if shutil.which("mvn") else "ivy")


def _coordinates(version: str) -> list[tuple[str, str, str]]:
    return [
        ("org.apache.kafka", "kafka_2.13", version),
        ("org.apache.kafka", "kafka-tools", version),
        ("org.slf4j", "slf4j-simple", SLF4J_VERSION),
    ]


def _with_maven(version: str, download: Path) -> None:
    rows = [
        f"    <dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{number}</version></dependency>"
        for group, artifact, number in _coordinates(version)
    ]
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={download / 'libs'}"]
    run_maven(download, rows, goal, f"Kafka {version}")


def _with_ivy(version: str, download: Path) -> None:
    rows = [f'    <dependency org="{group}" name="{artifact}" rev="{number}"/>' for group, artifact, number in _coordinates(version)]
    run_ivy(download, rows, ["-retrieve", f"{download}/libs/[artifact]-[revision](-[classifier]).[ext]"], f"Kafka {version}")


def run_maven(where: Path, dependencies: Iterable[str], goal: Sequence[str], version: str) -> None:
    """Run a goal on a project in the directory `where` that has these dependencies (lines of XML)."""
    (where / "pom.xml").write_text(POM.format(dependencies="\n".join(dependencies)))
    _run(["mvn", "--batch-mode", "--quiet", *goal], where, version)


def run_ivy(where: Path, dependencies: Iterable[str], options: Sequence[str], version: str) -> None:
    """Run the Ivy jar inside PySpark, which needs no installation of its own, on a module with these dependencies (lines of XML)."""
    spec = find_spec("pyspark")
    found = sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar")) if spec and spec.origin else []
    if not found:
        raise RigError(
            "neither mvn nor PySpark's Ivy jar is there to download Kafka with: install Maven, or pip install -r requirements-dev.txt"
        )
    (where / "ivy.xml").write_text(IVY.format(dependencies="\n".join(dependencies)))
    common = ["-ivy", "ivy.xml", "-cache", str(cache_root() / "ivy"), "-types", "jar", "bundle"]
    _run([find_java(), "-jar", str(found[-1]), *common, *options], where, version)


def _run(argv: list[str], where: Path, version: str) -> None:
    try:
        done = subprocess.run(argv, cwd=where, capture_output=True, text=True, check=False, timeout=DOWNLOAD_SECONDS)
    except subprocess.TimeoutExpired as late:
        raise RigError(f"downloading {version} took more than {DOWNLOAD_SECONDS} s: {' '.join(argv)}") from late
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise RigError(f"downloading {version} failed (does that version exist? is Maven Central reachable?): {' '.join(argv)}\n{tail}")


def _check(version: str, where: Path, tool: str) -> None:
    wanted = [f"{artifact}-{number}.jar" for _group, artifact, number in _coordinates(version)]
    missing = [name for name in [*wanted, f"kafka-clients-{version}.jar"] if not (where / name).is_file()]
    if missing:
        raise RigError(f"{tool} reported success but did not bring {', '.join(missing)}")


def _keep_one_binding(where: Path) -> None:
    """Kafka before 4.0 brings slf4j-reload4j, and with two bindings on the classpath it is chance which one gets the log lines."""
    for jar in where.glob("slf4j-reload4j-*.jar"):
        jar.unlink()
