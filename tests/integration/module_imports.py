# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports all modules and the client of Spark, once for all processes of `module_server`."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pyspark.sql.connect.session  # noqa: F401
import pytest  # noqa: F401  # the program of each process, which multiprocessing imports again

from ansible_collections.streamops.kafka_recovery.plugins import modules

for module in pkgutil.iter_modules(modules.__path__, f"{modules.__name__}."):
    import_module(module.name)
