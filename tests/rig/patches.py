"""The newest patch of a Kafka release ("4.2") that Maven Central serves now."""

import re
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

from rig.errors import RigError
from rig.jars import chosen_tool, run_ivy, run_maven

RELEASE = re.compile(r"\d+\.\d+")
PATCH = re.compile(r"\d+\.\d+\.\d+")
# A release on its way to Maven Central is listed artifact by artifact: these two are needed (see `rig.jars`).
ARTIFACTS = ("kafka_2.13", "kafka-tools")
# Nothing but their numbers is asked for: no dependencies, and from Maven no jars either.
MAVEN = (
    "    <dependency><groupId>org.apache.kafka</groupId><artifactId>{artifact}</artifactId><version>{versions}</version><type>pom</type>"
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"
)
IVY = '    <dependency org="org.apache.kafka" name="{artifact}" rev="{versions}" transitive="false"/>'


def exact(version: str) -> str:
    """A version as it stands, a release as its newest patch. Raises RigError where Maven Central cannot be asked, or knows none."""
    return newest_patch(version) if RELEASE.fullmatch(version) else version


def newest_patch(release: str, with_tool: str | None = None) -> str:
    """Ask Maven Central through an ordinary client (see `jars.libs`), which looks again each time."""
    return choose(release, {"maven": _maven, "ivy": _ivy}[chosen_tool(with_tool)])


def choose(release: str, newest_in: Callable[[str], Collection[str]]) -> str:
    """The newest patch that has every artifact and is no alpha, beta or release candidate.

    `newest_in` finds the newest version of each artifact in a range like "[4.2.0,4.2.3)".
    """
    end = f"{release}.9999"
    while True:
        found = newest_in(f"[{release}.0,{end})")
        candidates = [version for version in found if not PATCH.fullmatch(version)]
        if not candidates:
            return min(found, key=lambda version: [int(number) for number in version.split(".")])
        end = candidates[0]


def _maven(versions: str) -> set[str]:
    with tempfile.TemporaryDirectory() as scratch:
        listed = Path(scratch) / "listed.txt"
        rows = [MAVEN.format(artifact=artifact, versions=versions) for artifact in ARTIFACTS]
        run_maven(Path(scratch), rows, ["-U", "dependency:list", f"-DoutputFile={listed}"], versions)
        return _numbers(r"{artifact}:pom:([^:\s]+)", listed.read_text(), versions)


def _ivy(versions: str) -> set[str]:
    with tempfile.TemporaryDirectory() as scratch:
        rows = [IVY.format(artifact=artifact, versions=versions) for artifact in ARTIFACTS]
        run_ivy(Path(scratch), rows, ["-refresh", "-retrieve", f"{scratch}/[artifact]-[revision].[ext]"], versions)
        return _numbers(r"{artifact}-(\S+)\.jar", " ".join(path.name for path in Path(scratch).iterdir()), versions)


def _numbers(pattern: str, text: str, versions: str) -> set[str]:
    found = [re.search(pattern.format(artifact=re.escape(artifact)), text) for artifact in ARTIFACTS]
    numbers = {match.group(1) for match in found if match}
    if None in found:
        raise RigError(f"the client reported success but did not name {' and '.join(ARTIFACTS)} in {versions}")
    return numbers
