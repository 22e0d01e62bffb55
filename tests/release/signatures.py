# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signatures of GnuPG, by exactly the key that is meant.

GnuPG takes a name for a part of a user id: `release@example.com` is also a part of `evil-release@example.com.attacker.org`.
"""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

from .errors import ReleaseError

_FINGERPRINT = re.compile(r"[0-9A-Fa-f]{40}")
_ADDRESS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+\-]*@[A-Za-z0-9][A-Za-z0-9.\-]*")


def secret_key(name: str) -> str:
    """Return the fingerprint of the only secret key of a fingerprint or an address. Raises ReleaseError if `name` is neither, or is not of one key."""
    if _FINGERPRINT.fullmatch(name):
        user = name
    elif _ADDRESS.fullmatch(name):
        user = f"<{name}>"  # GnuPG's way to name a whole address
    else:
        raise ReleaseError(f"the key {name!a} is neither a fingerprint of 40 digits nor an address like release@example.com")
    listed = subprocess.run(["gpg", "--batch", "--with-colons", "--list-secret-keys", user], capture_output=True, text=True, check=False)
    rows = [line.split(":") for line in listed.stdout.splitlines()]
    # The row after that of a key has its fingerprint. Rows of subkeys begin with ssb.
    found = [fingerprint[9] for key, fingerprint in pairwise(rows) if key[0] == "sec" and fingerprint[0] == "fpr"]
    if not found:
        raise ReleaseError(f"GnuPG has no secret key of {name}; import it, or name another one")
    if len(found) > 1:
        raise ReleaseError(f"GnuPG has {len(found)} secret keys of {name}; name one by its fingerprint: {', '.join(found)}")
    return found[0]


def sign(path: Path, fingerprint: str) -> Path:
    """Sign a file. Return its signature. Raises ReleaseError if another key has signed it, CalledProcessError if gpg fails."""
    signature = path.with_name(f"{path.name}.asc")
    gpg = ["gpg", "--batch", "--local-user", fingerprint, "--armor", "--output", str(signature), "--detach-sign", str(path)]
    subprocess.run(gpg, capture_output=True, check=True)
    check_signature(path, signature, fingerprint)
    return signature


def check_signature(path: Path, signature: Path, fingerprint: str) -> None:
    """Raise ReleaseError if the file is not signed by this key, or by a subkey of it, and by no other one."""
    gpg = ["gpg", "--batch", "--status-fd", "1", "--verify", str(signature), str(path)]
    verified = subprocess.run(gpg, capture_output=True, text=True, check=False)
    # GnuPG's doc/DETAILS: the last field of VALIDSIG is the fingerprint of the primary key.
    signers = [line.split()[-1] for line in verified.stdout.splitlines() if line.startswith("[GNUPG:] VALIDSIG ")]
    if verified.returncode or signers != [fingerprint]:
        raise ReleaseError(f"{path.name} is not signed by {fingerprint}, but by {', '.join(signers) or 'no key'}; look at gpg.conf")
