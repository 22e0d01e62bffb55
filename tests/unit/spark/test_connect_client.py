# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Spark Connect server on a loopback address gets nothing if another user listens there."""

from __future__ import annotations

import os

import pytest
from unit.listener import HEADERS, NOBODY, frames, listener

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import connect_client
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import session


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to have a process of another user")
@pytest.mark.parametrize(
    "remote", ["sc://localhost:{}/;token=secret", "sc://localhost:{}", "sc://127.0.0.1:{}", "sc://0.0.0.0:{}", "sc://[::1]:{}"]
)
def test_another_user_on_a_loopback_port_gets_nothing(monkeypatch: pytest.MonkeyPatch, remote: str) -> None:
    monkeypatch.setattr(connect_client, "CONNECT_SECONDS", 1.0)
    with listener("::1", uid=NOBODY) as one, listener("127.0.0.1", one.port, NOBODY) as other:
        refused = pytest.raises(RecoveryError, match=rf"another user \(uid {NOBODY}\) listens on .+:{one.port} .+use_ssl=true")
        with refused as error, session(None, remote.format(one.port), {}, 0):
            pass
        assert one.received() == other.received() == b"" and "secret" not in str(error.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to have a process of another user")
def test_the_name_localhost_is_never_the_other_user_on_the_other_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_client, "CONNECT_SECONDS", 1.0)
    with listener("::1", uid=NOBODY) as other, listener("127.0.0.1", other.port, os.geteuid()) as own:
        with (
            pytest.raises(RecoveryError, match="does not speak Spark Connect"),
            session(None, f"sc://localhost:{own.port}/;token=secret", {}, 0),
        ):
            pass
        assert other.received() == b"" and HEADERS in frames(own.received())


@pytest.mark.parametrize(
    "remote",
    [
        "sc://host",
        "sc://host/;use_ssl=false",
        "sc://host/;USE_SSL=true",
        "sc://host/;use_ssl=TRUE",
        "sc://host/;use_ssl=true;use_ssl=false",
    ],
)
def test_a_secret_is_not_sent_where_pyspark_would_use_no_tls(remote: str) -> None:
    """PySpark takes the last of two values, and only these letters."""
    with pytest.raises(RecoveryError, match="in plain text"):
        connect_client.need_tls(remote)


def test_a_secret_is_sent_with_tls() -> None:
    connect_client.need_tls("sc://host/;user_id=me;use_ssl=true")
