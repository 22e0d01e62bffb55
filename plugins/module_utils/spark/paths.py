# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Spark gets as the path of a file of the workdir.

A Spark in this process reads the same files as this process. Any other one reads a workdir in an object store by its own Hadoop file system: nothing is
assumed to be under the same path there. A workdir in a folder must be shared with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

S3, AZURE = "s3", "az"
# By the scheme of a workdir: that of Hadoop's file system.
SCHEMES = {S3: "s3a", "gs": "gs", AZURE: "abfss"}
AZURE_ACCOUNT = "AZURE_STORAGE_ACCOUNT_NAME"
# By the variable that the store of the workdir reads, too: the setting of Hadoop.
VARIABLES = {
    "AWS_ENDPOINT_URL": "spark.hadoop.fs.s3a.endpoint",
    "AWS_DEFAULT_REGION": "spark.hadoop.fs.s3a.endpoint.region",
    "AWS_REGION": "spark.hadoop.fs.s3a.endpoint.region",
}
PATH_STYLE = "spark.hadoop.fs.s3a.path.style.access"
# Whether Spark runs outside of this process, of each session that is open.
_elsewhere: list[bool] = []


@contextmanager
def spark_elsewhere(elsewhere: bool) -> Iterator[None]:
    """Say in this context whether Spark runs outside of this process."""
    _elsewhere.append(elsewhere)
    try:
        yield
    finally:
        _elsewhere.pop()


def reads_store(path: Path) -> bool:
    """Return whether Spark reads and writes `path` in an object store, and not in the folder that this process has for it."""
    return any(_elsewhere) and mounts.mount_of(path) is not None


def spark_path(path: str) -> str:
    """Return the URL of a file or folder for Spark, with Hadoop's wildcards escaped."""
    mount = mounts.mount_of(Path(path)) if any(_elsewhere) else None
    url = f"file:{path}" if mount is None else hadoop_url(f"{mount.url}/{Path(path).relative_to(mount.root)}", os.environ)
    return "".join(f"\\{letter}" if letter in "{}[]*?\\" else letter for letter in url)


def hadoop_url(url: str, environment: Mapping[str, str]) -> str:
    """Return the URL of an object for Hadoop. Raises RecoveryError if the environment does not name the account of a container of Azure."""
    scheme, _colon, rest = url.partition("://")
    if scheme == AZURE:
        if not (account := environment.get(AZURE_ACCOUNT)):
            raise RecoveryError(f"{url}: Spark needs the account of that container: set {AZURE_ACCOUNT} in the environment")
        container, _slash, name = rest.partition("/")
        rest = f"{container}@{account}.dfs.core.windows.net/{name}"
    return f"{SCHEMES[scheme]}://{rest}"


def store_settings(workdir: Path | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings with which Spark finds the server that has a workdir of `s3://`. They are those of the environment, and not secret."""
    mount = None if workdir is None else mounts.mount_of(workdir)
    if mount is None or not mount.url.startswith(f"{S3}://"):
        return {}
    settings = {name: environment[variable] for variable, name in VARIABLES.items() if environment.get(variable)}
    return settings | ({PATH_STYLE: "true"} if environment.get("AWS_ENDPOINT_URL") else {})
