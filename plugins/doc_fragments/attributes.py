# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The attributes that all modules share, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Attributes of all modules."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying the cluster.
  diff_mode:
    description: Returns details on what has changed, or would change in C(check_mode), when in diff mode.
  idempotent:
    description: A second run of the task changes nothing.
"""

    # The action group for which `module_defaults` sets the connection options.
    KAFKA = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/streamops.kafka_recovery.kafka) in C(module_defaults) to set the connection options once.
    support: full
    membership:
      - streamops.kafka_recovery.kafka
"""

    # Of modules that write nothing to a cluster.
    INFO = r"""
options: {}
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
"""
