# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What unit tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import unanswered_requests

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what works with the embedded Spark: `make check` runs it beside the rest."""
    for item in items:
        if HERE in item.path.parents and "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up brokers need no time to carry out what they got while they hung."""
    monkeypatch.setattr(unanswered_requests, "RESUMED_SECONDS", 0.0)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One embedded Spark for all tests: starting it takes longer than any of them."""
    # Few tests need it, and importing it takes as long as many of them.
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import session

    with session(None, None, {}, 0) as started:
        yield started
