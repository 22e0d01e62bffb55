# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of the environment on which obstore would end without an error that an operator can read."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError

# By the scheme of URLs: variables that are sent in headers, and addresses.
SENT = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"),
    "az": ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_TOKEN"),
}
ADDRESSES = {"s3": ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"), "az": ("AZURE_STORAGE_ENDPOINT",)}


def check_environment(url: str, environment: Mapping[str, str]) -> None:
    """Raise FileError, without the value, if a variable for the store of a URL cannot be one. `url`: of the folder."""
    scheme = url.partition(":")[0]
    addresses = ADDRESSES.get(scheme, ())
    for name in (*SENT.get(scheme, ()), *addresses):
        value = environment.get(name, "")
        if value != value.strip() or not value.isprintable():
            raise FileError(
                f"{url} cannot be used: {name} has a space or a line break at its end, or another character that is not allowed"
            )
    for name in addresses:
        if name in environment and not _is_address(environment[name]):
            raise FileError(
                f"{url} cannot be used: {name} must begin with https://, or with http:// and AWS_ALLOW_HTTP=true, and be a valid address"
            )


def _is_address(value: str) -> bool:
    try:
        return urlsplit(value).hostname is not None and value.startswith(("http://", "https://")) and " " not in value
    except ValueError:
        return False
