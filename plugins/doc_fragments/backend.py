# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that say which messages are spoken, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """KIP-1275's own messages, or today's."""

    DOCUMENTATION = r"""
options:
  backend:
    description:
      - V(native) speaks KIP-1275's messages, GetReplicaLogInfo and ElectLeaders with designated leaders. No released Kafka has them. They ask for
        CLUSTER_ACTION on the cluster.
      - V(compat) does the same job with the messages of every Kafka that has KIP-460.
      - V(auto) is native where every broker that answers offers both messages, else compat. Where only some do, a warning says which do not.
    type: str
    choices: [auto, compat, native]
    default: auto
  get_replica_log_info_api_key:
    description: The API key under which brokers offer GetReplicaLogInfo. No release has fixed it; the default is the one that Kafka's source had for a while.
    type: int
    default: 93
"""
