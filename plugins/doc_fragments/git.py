# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that work on a git repository, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Which repository, and how it is reached."""

    DOCUMENTATION = r"""
options:
  repository:
    description:
      - URL or path of the git repository that has the recoveries. It is fetched into a temporary folder, each time afresh. No clone or work tree of
        anybody is touched.
      - Credentials are git's own business (credential helper, C(GIT_ASKPASS), ssh agent). Git fails where it would ask for them. A URL with a password
        is refused.
    type: str
    required: true
  branch:
    description: The protected branch. What is merged into it is approved. Default is the branch that the HEAD of the repository names.
    type: str
    default: ""
  directory:
    description: The folder of the repository that has the folders of the recoveries.
    type: str
    default: recoveries
  timeout:
    description: Seconds after which a git command that has not ended is ended.
    type: float
    default: 60.0
  allow_plaintext_secrets:
    description:
      - Whether git may send its credentials unencrypted to another machine. Without it, an C(http://) address beyond this machine is refused, also as
        a redirect or by git's C(url.<base>.insteadOf).
      - Whoever reads the network can then push plans.
    type: bool
    default: false
requirements:
  - git >= 2.34
"""
