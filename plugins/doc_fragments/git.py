# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that work on a git repository, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of the git repository."""

    DOCUMENTATION = r"""
options:
  repository:
    description:
      - URL or path of the git repository that has the recoveries. It is fetched into a new temporary directory each time. Existing clones and work
        trees are not changed.
      - Git must find the credentials itself (credential helper, C(GIT_ASKPASS), ssh agent). Git fails instead of prompting for them. A URL with a
        password is refused.
    type: str
    required: true
  branch:
    description: The protected branch. A plan that is merged into it is approved. Default is the branch that HEAD of the repository names.
    type: str
    default: ""
  directory:
    description: Directory of the repository that has one subdirectory per recovery.
    type: str
    default: recoveries
  timeout:
    description: Time limit in seconds of each git command.
    type: float
    default: 60.0
  allow_plaintext_secrets:
    description:
      - Whether git may send its credentials unencrypted to another machine. Without it, an C(http://) address on another machine is refused, also as
        a redirect or by git's C(url.<base>.insteadOf).
      - Anyone who can read the network traffic can then push plans.
    type: bool
    default: false
requirements:
  - git >= 2.34
"""
