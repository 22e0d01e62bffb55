# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules that run in the process of the tests, with the Spark that the tests share: starting another one takes longer than most tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
from module_processes import MOST_SECONDS
from pyspark.sql import SparkSession
from wire.course import Step
from wire.run import run


def share(spark: SparkSession | None, monkeypatch: pytest.MonkeyPatch, file: ModuleType) -> None:
    """Let the code of this file open `spark` as its session. Without one it must end before it opens a session."""

    @contextmanager
    def session(**_options: Any) -> Iterator[SparkSession]:
        assert spark is not None, "Spark was started"
        yield spark

    monkeypatch.setattr(file, "session", session)


def run_here(name: str, options: Mapping[str, Any], check_mode: bool = False) -> dict[str, Any]:
    """Return the result of a module that runs in this process."""
    return run(Step(name, name, check=check_mode), options, MOST_SECONDS)
