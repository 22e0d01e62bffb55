# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make docs`: builds the site, then follows every link in it."""

from __future__ import annotations

import subprocess
import sys

from docsite.build import build
from docsite.links import broken


def main() -> int:
    """Returns 0 when everything is as it should be."""
    try:
        site = build()
    except subprocess.CalledProcessError as error:
        print(f"the site could not be built: {error.cmd[0]} ended with {error.returncode}, see above", file=sys.stderr)
        return 1
    if wrong := broken(site):
        print(*wrong, f"{len(wrong)} links lead nowhere", sep="\n", file=sys.stderr)
        return 1
    print(f"{len(list(site.rglob('*.html')))} pages, every link leads somewhere: {site / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
