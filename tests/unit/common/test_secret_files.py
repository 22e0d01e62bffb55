# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files with secrets: those that other users can read or change are refused with the command to run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import CONNECTION_ARGUMENTS, Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import secret_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

NOBODY = 65534


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a secret"
    path.touch(mode=0o600)
    path.write_text("hush")
    return path


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_what_only_its_owner_reads_is_read(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert secret_files.read("secret_file", file) == b"hush"
    secret_files.check("secret_file", file)


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o604, 0o660, 0o644, 0o610])
def test_what_others_can_read_or_write_is_refused_with_the_command(file: Path, mode: int) -> None:
    file.chmod(mode)
    for use in (secret_files.read, secret_files.check):
        with pytest.raises(RecoveryError, match=f"secret_file .*mode 0{mode:o}.*chmod go= '{file}'") as refused:
            use("secret_file", file)
        assert "hush" not in str(refused.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file away, which only root can")
def test_what_another_user_owns_is_refused(file: Path) -> None:
    os.chown(file, NOBODY, 0)
    with pytest.raises(RecoveryError, match=rf"belongs to another user \(uid {NOBODY}\).*chown 0 '{file}'"):
        secret_files.read("secret_file", file)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which only root can")
@pytest.mark.parametrize(("group", "mode", "refused"), [(0, 0o440, False), (0, 0o444, True), (0, 0o460, True), (NOBODY, 0o440, True)])
def test_a_service_reads_what_systemd_hands_to_it(
    file: Path, monkeypatch: pytest.MonkeyPatch, group: int, mode: int, refused: bool
) -> None:
    os.chown(file, 0, group)
    file.chmod(mode)
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    if refused:
        with pytest.raises(RecoveryError, match="other users"):
            secret_files.check("secret_file", file)
    else:
        secret_files.check("secret_file", file)


def test_a_private_key_is_a_secret(file: Path) -> None:
    options = {name: spec.get("default") for name, spec in CONNECTION_ARGUMENTS.items()} | {"bootstrap_servers": ["a:1"]}
    Connection.from_params({**options, "client_cert": str(file), "client_key": str(file)})
    file.chmod(0o640)
    with pytest.raises(RecoveryError, match=r"client_key .*chmod go="):
        Connection.from_params({**options, "client_cert": str(file), "client_key": str(file)})
