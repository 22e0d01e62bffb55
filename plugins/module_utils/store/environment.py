# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of the environment on which obstore would end without an error that an operator can read."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError

ADDRESSES = ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")
# Sent in headers.
SENT = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", *ADDRESSES)


def check_environment(url: str, environment: Mapping[str, str]) -> None:
    """Raise FileError, without the value, if a variable for a store with S3's API cannot be one. `url`: of the folder, for messages."""
    if not url.startswith("s3://"):
        return
    for name in SENT:
        value = environment.get(name, "")
        if value != value.strip() or not value.isprintable():
            raise FileError(
                f"{url} cannot be used: {name} has a space or a line break at its end, or another character that is not allowed"
            )
    for name in ADDRESSES:
        if name in environment and not environment[name].startswith(("http://", "https://")):
            raise FileError(f"{url} cannot be used: {name} must begin with https://, or with http:// and AWS_ALLOW_HTTP=true")
