# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of GnuPG for tests, in a home that is removed with its agent."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def home_with_key(user: str) -> Iterator[Path]:
    """Yield a home of GnuPG (GNUPGHOME) with a secret key of this user, without a passphrase. Nothing of it is left afterwards."""
    home = Path(tempfile.mkdtemp(dir="/tmp"))  # a short path: gpg's socket is in it
    environment = {**os.environ, "GNUPGHOME": str(home)}
    make = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", user, "ed25519", "sign", "never"]
    try:
        subprocess.run(make, env=environment, check=True, capture_output=True, timeout=120)
        yield home
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], env=environment, check=False, timeout=60)
        shutil.rmtree(home)
