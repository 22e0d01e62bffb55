# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signatures of plans, with the real ssh-keygen: good ones name who signed, everything else is refused with the reason."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from git_remotes import ssh_key

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import signatures
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import (
    NAMESPACE,
    AllowedSigners,
    SignatureError,
    sign,
)

PLAN = b'{"plan_id": "0b7c"}\n'


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return ssh_key(tmp_path, "bot")[0]


def public(key: Path) -> str:
    return " ".join(key.with_suffix(".pub").read_text().split()[:2])


def signers(folder: Path, *lines: str) -> AllowedSigners:
    path = folder / "allowed_signers"
    path.write_text("".join(f"{line}\n" for line in lines))
    path.chmod(0o644)
    return AllowedSigners(path, 60)


def refusal(allowed: AllowedSigners, content: bytes, signature: bytes) -> str:
    with pytest.raises(SignatureError) as caught:
        allowed.signer(content, signature)
    assert str(caught.value).isprintable()
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("bot@example.com {key}", "bot@example.com"),
        ('bot@example.com namespaces="git,kafka-recovery-plan-v1" {key}', "bot@example.com"),
        ("bot@example.com,second@example.com {key}", "bot@example.com"),
        ("*@example.com {key}", "*@example.com"),
        ('bot@example.com valid-after="20200101",valid-before="20990101" {key}', "bot@example.com"),
    ],
)
def test_a_plan_that_was_signed_names_its_signer(tmp_path: Path, key: Path, line: str, name: str) -> None:
    signer = signers(tmp_path, "# people", "", line.format(key=public(key))).signer(PLAN, sign(PLAN, key, 60))
    fingerprint = subprocess.run(["ssh-keygen", "-lf", str(key)], capture_output=True, text=True, check=True).stdout.split()[1]
    assert str(signer) == f"{name} ({fingerprint})"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "bot@example.com {other}",
        'bot@example.com namespaces="git" {key}',
        'bot@example.com namespaces="kafka-recovery-plan-v2" {key}',
        'bot@example.com valid-before="20200101" {key}',
        'bot@example.com valid-after="20990101" {key}',
        "no line of a key",
        "bot@example.com cert-authority {key}",
    ],
)
def test_only_keys_that_are_allowed_for_plans_and_now_count(tmp_path: Path, key: Path, line: str) -> None:
    other = ssh_key(tmp_path, "other")[0]
    assert refusal(signers(tmp_path, line.format(key=public(key), other=public(other))), PLAN, sign(PLAN, key, 60))


def test_a_signature_of_something_else_is_none(tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed, good = signers(tmp_path, f"bot@example.com {public(key)}"), sign(PLAN, key, 60)
    assert "incorrect signature" in refusal(allowed, PLAN + b" ", good)
    assert refusal(allowed, b"", good)
    for broken in (b"", b"\x00\xff", good[:-40], good.replace(b"BEGIN", b"BEGUN"), b"x" * 100_000):
        assert refusal(allowed, PLAN, broken), broken
    for namespace in ("git", "file", "kafka-recovery-plan-v2"):
        monkeypatch.setattr(signatures, "NAMESPACE", namespace)
        other = sign(PLAN, key, 60)
        monkeypatch.undo()
        assert "namespace" in refusal(allowed, PLAN, other)
    assert allowed.signer(PLAN, good).principal == "bot@example.com"


def test_a_file_that_others_could_change_names_no_signers(tmp_path: Path, key: Path) -> None:
    path = tmp_path / "allowed_signers"
    path.write_text(f"bot@example.com {public(key)}\n")
    for mode in (0o664, 0o646):
        path.chmod(mode)
        with pytest.raises(SignatureError, match=r"could be changed by others .* chmod go-w"):
            AllowedSigners(path, 60)
    for wrong in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(SignatureError, match=r"kafka_recovery_plan_signers .* cannot be read"):
            AllowedSigners(wrong, 60)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SignatureError, match="cannot be read"):
        AllowedSigners(tmp_path / "pipe", 60)


@pytest.fixture
def agent(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An ssh agent without keys."""
    socket = tmp_path_factory.mktemp("a") / "s"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL) as process:
        while not socket.exists():
            assert process.poll() is None
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        yield
        process.terminate()


@pytest.mark.usefixtures("agent")
def test_an_agent_can_hold_the_key(tmp_path: Path, key: Path) -> None:
    subprocess.run(["ssh-add", "-q", str(key)], check=True, capture_output=True, timeout=60)
    allowed = signers(tmp_path, f"bot@example.com {public(key)}")
    key.unlink()
    assert allowed.signer(PLAN, sign(PLAN, key.with_suffix(".pub"), 60))


def test_a_key_that_cannot_sign_is_named(tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    locked = tmp_path / "locked"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(locked)], check=True, timeout=60)
    (tmp_path / "empty").write_text("")
    (tmp_path / "empty").chmod(0o600)
    open_to_all = ssh_key(tmp_path, "open")[0]
    open_to_all.chmod(0o644)
    for wrong in (locked, tmp_path / "empty", tmp_path / "nowhere", key.with_suffix(".pub").rename(tmp_path / "alone.pub"), open_to_all):
        with pytest.raises(SignatureError, match=rf"kafka_recovery_plan_signing_key {wrong} cannot sign: .*private ssh key") as caught:
            sign(PLAN, wrong, 60)
        assert str(caught.value).isprintable()


def test_without_ssh_keygen_the_error_names_it(tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert NAMESPACE.endswith("-v1")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SignatureError, match="ssh-keygen is not installed"):
        sign(PLAN, key, 60)
