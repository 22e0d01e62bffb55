# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that write a landing file, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """How long evidence is collected, for which strategy, and how much of it is shown."""

    DOCUMENTATION = r"""
options:
  duration:
    description:
      - Time limit in seconds to collect all evidence, from the first connection on (KIP-1275's recovery duration). Requests end with it, even if
        O(request_timeout) is longer. Raise it for very large clusters.
      - Connections and the state of brokers and partitions can take the first half of it. Two thirds of the rest are for the logs. Requests to brokers that
        do not answer, or answer with an error that Kafka's own clients retry, are repeated until then, or until the broker is fenced. The rest is for
        comparisons of logs, committed offsets (of at most 20,000 groups of each broker), topic configs and the metadata log.
      - Evidence that is missing at the end counts as not answered, not compared or not known. A warning lists it.
      - Requests that any broker can answer have at least 5 seconds at the beginning, and 5 seconds after the end. The task fails if no broker answers
        them. Half of O(duration) always remains for the rest.
      - The check for failed disks can take 5 seconds more. A token endpoint of OAuth has O(request_timeout) seconds in addition.
    type: float
    default: 30.0
  strategy:
    description: Strategy of the plan to make, as in M(streamops.kafka_recovery.kafka_recovery_plan). See O(first_answer_seconds).
    type: str
    choices: [none, balanced, kip966_balanced, aggressive]
    default: balanced
  topic_strategies:
    description: Strategies of single topics, by topic name. All other topics have O(strategy).
    type: dict
    default: {}
  preview:
    description: Number of partitions to show in the results C(preview), C(table) and C(unknown).
    type: int
    default: 10
"""
