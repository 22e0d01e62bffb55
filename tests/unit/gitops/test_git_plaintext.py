# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Git's token goes unencrypted to no other machine, however an address comes about. Real git, and a server that is also its proxy to other machines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from git_http import GitServer, git_server, stored_token
from git_remotes import Forge

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import GitError, Remote, scratch

pytestmark = pytest.mark.slow

TOKEN, AWAY = "token-Wx83vm", "http://git.example.com"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    forge = Forge(tmp_path / "forge")
    with git_server(Path(forge.url).parent, TOKEN) as running:
        yield running


@pytest.fixture(autouse=True)
def config(server: GitServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Git's configuration: a token for every address, and all that goes beyond this machine goes to the server."""
    lines: list[str] = []
    for url in (AWAY, server.url):
        lines = stored_token(tmp_path, url, TOKEN)
    config = tmp_path / "gitconfig"
    config.write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    return config


def refusal(url: str) -> str:
    with pytest.raises(GitError) as caught, scratch(Remote(url), ""):
        pass
    return str(caught.value)


@pytest.mark.parametrize("prefix", [AWAY, "HTTP://git.example.com", "http://recovery@git.example.com:80"])
def test_an_address_without_tls_is_refused_before_anything_is_sent(server: GitServer, prefix: str) -> None:
    text = refusal(f"{prefix}/remote.git")
    assert server.tokens == set()
    assert "kafka_recovery_git_repository" in text and "https://" in text and "kafka_recovery_git_allow_plaintext_secrets" in text
    assert len(text.splitlines()) == 1


def test_an_address_that_git_rewrites_is_refused_too(server: GitServer, config: Path) -> None:
    config.write_text(f'{config.read_text()}[url "{AWAY}/"]\ninsteadOf = ops:\n')
    text = refusal("ops:remote.git")
    assert server.tokens == set() and "kafka_recovery_git_allow_plaintext_secrets" in text


def test_an_address_for_pushes_is_refused_too(server: GitServer, config: Path) -> None:
    config.write_text(f'{config.read_text()}[url "{AWAY}/"]\npushInsteadOf = {config.parent}/forge/\n')
    with scratch(Remote(f"{config.parent}/forge/remote.git"), "") as repository:
        commit = repository.commit(repository.tip, {"x": b""}, "x")
        with pytest.raises(GitError, match="kafka_recovery_git_allow_plaintext_secrets"):
            repository.push(commit, "recovery/1")
    assert server.tokens == set()


def test_a_whitelist_of_the_environment_does_not_let_it_through(server: GitServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "http:https")
    refusal(f"{AWAY}/remote.git")
    assert server.tokens == set()


def test_loopback_needs_no_leave_and_is_reached_without_a_proxy(server: GitServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with git_server(tmp_path / "nothing", "another") as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        with scratch(Remote(f"{server.url}/remote.git"), "") as repository:
            assert repository.branch == "main"
        assert proxy.tokens == set() and server.tokens == {TOKEN}


def test_loopback_does_not_send_elsewhere(server: GitServer, tmp_path: Path) -> None:
    server.redirect = AWAY
    assert "cannot be read" in refusal(f"{server.url}/remote.git")
    assert server.tokens == set()


def test_with_allow_plaintext_secrets_git_reads_and_pushes(server: GitServer, tmp_path: Path) -> None:
    with scratch(Remote(f"{AWAY}/remote.git", allow_plaintext_secrets=True), "") as repository:
        repository.push(repository.commit(repository.tip, {"x": b""}, "x"), "recovery/1")
    assert server.tokens == {TOKEN}
