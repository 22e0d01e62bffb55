"""Faster JVM starts: Kafka's classes, loaded once and kept in a class data sharing archive beside the jars.

A broker that ends by itself leaves an archive of what it had loaded. With it a JVM needs half of the CPU time until it is ready, which
counts when many of them start on few cores. Kafka's own tools are run without it, as users run them.
"""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from rig import java
from rig.config import Node


def jvm_options(libs: Path, node: Node) -> list[str]:
    """Options that use the archive of these jars, or where there is none yet, let a broker record one when it ends."""
    archive = _archive(libs)
    if archive.exists():
        return [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
    if node.role == "broker" and os.access(archive.parent, os.W_OK):
        return [f"-XX:ArchiveClassesAtExit={_recorded(node)}"]
    return []


def adopt(libs: Path, node: Node) -> None:
    """Keep what a broker recorded, unless another one was faster. Call it after the JVM ended by itself."""
    recorded, archive = _recorded(node), _archive(libs)
    if recorded.exists() and not archive.exists():
        with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
            beside = Path(shutil.copy(recorded, scratch))
            beside.rename(archive)
    recorded.unlink(missing_ok=True)


def _archive(libs: Path) -> Path:
    """An archive fits one Java build only."""
    return libs.parent / f"classes-{hashlib.sha256(java.version().encode()).hexdigest()[:12]}.jsa"


def _recorded(node: Node) -> Path:
    return node.directory / "classes.jsa"
