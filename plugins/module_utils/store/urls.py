# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""URLs of workdirs in an object store, as `s3://bucket/prefix`."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, quoted

SCHEMES = ("s3", "gs", "az")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-=]{0,199}")


def checked(option: str, url: str) -> str:
    """Return a URL without the slash at its end. Raises RecoveryError, naming `option`, if it is not the URL of a folder in an object store."""
    found = urlsplit(url)
    names = [found.netloc, *found.path.strip("/").split("/")] if found.path.strip("/") else [found.netloc]
    # `urlsplit` takes S3:// and a space before it, which other readers of the option do not.
    if (
        found.scheme not in SCHEMES
        or not url.startswith(f"{found.scheme}://")
        or found.query
        or found.fragment
        or not all(map(_PART.fullmatch, names))
    ):
        # Not the whole URL: what stands before an @ may be a password.
        raise RecoveryError(
            f"{option}: {quoted(url.rpartition('@')[2], 100)} is not the URL of a folder in an object store: write it as s3://bucket/folder, "
            "gs://bucket/folder or az://container/folder, with letters, digits, dots, dashes and underscores; credentials belong into the environment"
        )
    return f"{found.scheme}://{'/'.join(names)}"


def is_below(folder: str, url: str) -> bool:
    """Return whether a URL names `folder` or something in it."""
    return url == folder or url.startswith(folder + "/")
