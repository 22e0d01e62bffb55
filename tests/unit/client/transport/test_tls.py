# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates and keys that cannot be used: the option is named. What brokers say of them is tested with brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.tls import client_refused, context
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from rig.certificates import Certificates


def test_a_locked_key_opens_with_its_password_only(tmp_path: Path) -> None:
    locked = Certificates(tmp_path).client("recovery", password="hush")
    files = str(locked.certificate), str(locked.key)
    assert context(None, (*files, "hush"), True)
    with pytest.raises(RecoveryError, match="client_key_password does not open the key"):
        context(None, (*files, "wrong"), True)
    with pytest.raises(RecoveryError, match="client_key_password is missing"):
        context(None, (*files, None), True)


def test_a_key_of_another_certificate_is_named(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    one, other = certificates.client("one"), certificates.client("other")
    with pytest.raises(RecoveryError, match=r"client_key: .* is not the key of the certificate"):
        context(None, (str(one.certificate), str(other.key), None), True)


def test_files_that_hold_neither_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    empty = str(tmp_path / "empty.pem")
    with pytest.raises(RecoveryError, match="ca_cert"):
        context(empty, None, True)
    with pytest.raises(RecoveryError, match="client_cert"):
        context(None, (empty, empty, None), True)


def test_the_error_for_a_refused_certificate_states_whether_it_has_expired(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    assert "it expired on 20" in client_refused(str(certificates.client("late", expired=True).certificate))
    assert "truststore" in client_refused(str(certificates.client("good").certificate))
    assert "set client_cert" in client_refused(None)
