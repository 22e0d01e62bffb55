# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prevents git from sending credentials unencrypted to another machine: refused addresses, and settings for addresses that git finds itself.

Git takes credentials from its own helpers when a server requests them, so it cannot be known in advance whether there are any.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.plaintext import on_loopback

SCHEMES = ("http", "ftp")
# Git's message for an address of its configuration, or of a redirect, that the settings forbid.
NOT_ALLOWED = re.compile("transport '(http|ftp)' not allowed")
REMEDY = (
    "use https:// or ssh for kafka_recovery_git_repository, or accept the risk: allow_plaintext_secrets "
    "(kafka_recovery_git_allow_plaintext_secrets: true)"
)


def refusal(url: str) -> str | None:
    """Return the reason why git must not connect to `url` (as git itself rewrites it), None if it may."""
    parts = urlsplit(url)
    if parts.scheme.lower() not in SCHEMES or _on_loopback(url):
        return None
    return f"git would send its credentials unencrypted to {parts.hostname}: {REMEDY}"


def settings(url: str) -> list[str]:
    """Return the arguments of git by which it sends nothing unencrypted to another machine. `url`: an address that `refusal` accepts.

    They also cover push addresses and redirects, which only git knows.
    """
    if _on_loopback(url):
        return ["-c", "http.followRedirects=false", "-c", "http.proxy="]
    return [part for scheme in SCHEMES for part in ("-c", f"protocol.{scheme}.allow=never")]


def environment(given: Mapping[str, str], url: str) -> dict[str, str]:
    """Return the environment of git for an address that `refusal` accepts. `given`: the environment of this process.

    GIT_ALLOW_PROTOCOL overrides `settings`, so it is limited to what these allow.
    """
    allowed = given.get("GIT_ALLOW_PROTOCOL")
    if allowed is None or _on_loopback(url):
        return dict(given)
    return {**given, "GIT_ALLOW_PROTOCOL": ":".join(one for one in allowed.split(":") if one not in SCHEMES)}


def _on_loopback(url: str) -> bool:
    """Return whether an address without encryption stays on this machine."""
    parts = urlsplit(url)
    return parts.scheme.lower() in SCHEMES and on_loopback(parts.hostname or "")
