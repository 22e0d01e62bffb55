# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that elect unclean leaders which limit one recovery, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Limits of one recovery of one cluster."""

    DOCUMENTATION = r"""
options:
  max_partitions:
    description:
      - Nothing is elected, and the task fails, when more partitions of the cluster than this would be elected. Held partitions do not count.
      - The default is more than two brokers usually lead, and less than a large cluster has. It protects a cluster that is unreachable rather than
        down. To elect more partitions, set their number.
    type: int
    default: 10000
  max_offline_brokers:
    description:
      - Nothing is elected, and the task fails, while more brokers of the cluster than this are fenced, or in replica sets without being registered.
      - With three replicas, a partition that still has a survivor has lost two brokers. More at once are probably unreachable (a rack, a network),
        not lost, and return with their records. If they are lost, set their number.
    type: int
    default: 2
  lost_brokers:
    description:
      - Ids of the brokers that are lost permanently. Optional. They are checked before anything is elected, and a broker that shows signs of life fails
        the task. Each must be a broker of the cluster, fenced, with no answer from its port and no fetch of the metadata log (DescribeQuorum) for more
        than 9 seconds. The check takes 3 seconds.
      - The list must be complete. A broker that is offline, silent and not listed fails the task, too. A broker that is coming back need not be listed.
      - Kafka before 4.0 does not report the addresses of fenced brokers, so their ports are not probed.
    type: list
    elements: int
    default: []
"""
