# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The searches that several tests look at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import session
from model.__main__ import side_by_side
from model.partition import Bounds
from model.search import Findings, search


@pytest.fixture(scope="session")
def found() -> dict[int, Findings]:
    """min ISR → everything that a partition of 3 replicas can reach with 3 records and 4 leader epochs."""
    return dict(zip((1, 2), side_by_side(search, [Bounds(min_isr=1), Bounds(min_isr=2)]), strict=True))


@pytest.fixture(scope="session")
def small() -> Findings:
    """The same with 2 records and 3 epochs at min ISR 2."""
    return search(Bounds(2, records=2, epochs=3))


@pytest.fixture(scope="session")
def four() -> Findings:
    """Four replicas, so up to three survivors, with 2 records and 2 epochs at min ISR 2."""
    return search(Bounds(2, replicas=4, records=2, epochs=2))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One embedded Spark."""
    with session(None, None, {}, 0) as started:
        yield started
