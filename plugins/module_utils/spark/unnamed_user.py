# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user id that /etc/passwd does not have, as in a container: Java knows no home directory then, so Ivy fails, and no name, so Hadoop's login fails."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway


def home(otherwise: Path) -> Path:
    """Return the home directory that Java gets: that of the environment, or `otherwise`."""
    named = Path(os.environ.get("HOME", ""))
    return named if named.is_absolute() else otherwise


def start_context(settings: Mapping[str, str]) -> None:
    """Start Java and the context of Spark for a user without a name. Hadoop gets the user id as its name, before it asks the system for one."""
    conf = SparkConf().setAll(list(settings.items()))
    gateway = launch_gateway(conf)
    users = gateway.jvm.org.apache.hadoop.security.UserGroupInformation
    users.setLoginUser(users.createRemoteUser(str(os.getuid())))
    SparkContext(conf=conf, gateway=gateway)
