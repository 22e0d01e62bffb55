# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that say where Spark runs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_options import PlaceError, place, texts


def module(**params: Any) -> Any:
    """What is used of an AnsibleModule."""
    return SimpleNamespace(params={"workdir": "/w", "spark_master": None, "spark_remote": None, "spark_conf": {}, **params}, warn=print)


def test_settings_are_texts_as_spark_takes_them() -> None:
    assert texts({"a": True, "b": 2, "c": "x"}) == {"a": "true", "b": "2", "c": "x"}


def test_two_places_at_once_are_refused_unless_one_of_them_only_may_be() -> None:
    with pytest.raises(PlaceError, match="mutually exclusive"):
        place(module(spark_master="local", spark_remote="sc://host"))
    chosen = place(module(spark_master="local[2]", spark_remote="auto"))
    assert (chosen["master"], chosen["remote"], chosen["workdir"]) == ("local[2]", "auto", Path("/w"))


def test_what_is_empty_was_not_named() -> None:
    chosen = place(module(spark_master="", spark_remote=""))
    assert chosen["master"] is None and chosen["remote"] is None
