# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that say which messages are spoken, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Options that select KIP-1275's messages or those of released Kafka."""

    DOCUMENTATION = r"""
options:
  backend:
    description:
      - V(native) uses KIP-1275's messages, GetReplicaLogInfo and ElectLeaders with designated leaders. No released Kafka has them. They require
        CLUSTER_ACTION on the cluster.
      - V(compat) does the same with messages that every Kafka with KIP-460 has.
      - V(auto) is native if O(get_replica_log_info_api_key) is set and every broker that answers offers both messages, else compat. If only some
        brokers do, a warning names the others.
    type: str
    choices: [auto, compat, native]
    default: auto
  get_replica_log_info_api_key:
    description:
      - The API key under which brokers offer GetReplicaLogInfo. No release has fixed it, so there is no default, and without it O(backend=native) is refused.
      - Kafka's source had 93 for a while. Since Kafka 4.4 that is the key of another message.
    type: int
  designated_election_type:
    description: The number of the election type DESIGNATED in ElectLeaders v3. No release has fixed it; the KIP names it third, after 0 and 1.
    type: int
    default: 2
  request_limit_reached_error:
    description: The code of the error REQUEST_LIMIT_REACHED in answers to these two messages. No release has fixed it.
    type: int
    default: 137
"""
