# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The S3 server of the tests is as strict as S3: one of several writers with the same condition succeeds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import S3Store

from rig.object_gate import Act
from rig.object_store import ObjectStore

WRITERS, ROUNDS = 8, 40


def client(store: ObjectStore, bucket: str) -> S3Store:
    """A client of one bucket, which tries no request again."""
    config: Any = {name.lower(): value for name, value in store.environment().items() if name != "AWS_ALLOW_HTTP"}
    return S3Store(bucket, config=config, client_options={"allow_http": True}, retry_config={"max_retries": 0})


def _won(s3: S3Store, key: str, body: bytes, mode: Any) -> bool:
    try:
        obstore.put(s3, key, body, mode=mode)
    except (AlreadyExistsError, PreconditionError):
        return False
    return True


def test_one_of_several_writers_creates_and_one_replaces(object_store: ObjectStore) -> None:
    s3 = client(object_store, object_store.bucket())
    with ThreadPoolExecutor(WRITERS) as pool:
        for number in range(ROUNDS):
            assert sum(pool.map(lambda writer: _won(s3, "key", b"%d" % writer, "create"), range(WRITERS))) == (number == 0)
            before: Any = {"e_tag": obstore.head(s3, "key")["e_tag"]}
            assert sum(pool.map(lambda writer: _won(s3, "key", b"%d %d" % (number, writer), before), range(WRITERS))) == 1  # noqa: B023


def test_the_gate_makes_the_faults_of_its_rules(object_store: ObjectStore) -> None:
    bucket = object_store.bucket()
    s3 = client(object_store, bucket)
    for act, arrives in ((503, False), (Act.CUT, False), (Act.LOSE, True)):
        with object_store.gate.ruled(bucket, lambda _request: act), pytest.raises(obstore.exceptions.GenericError):  # noqa: B023
            obstore.put(s3, f"{act}/key", b"body")
        assert bool(sum(map(len, obstore.list(s3, str(act))))) == arrives
    obstore.put(s3, "key", b"first")
    with object_store.gate.ruled(bucket, lambda _request: Act.UNCONDITIONAL):
        obstore.put(s3, "key", b"second", mode="create")
    assert obstore.get(s3, "key").bytes() == b"second"
