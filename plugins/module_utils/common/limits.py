# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounds of what is taken from a broker: no cluster that works comes near them, and what is beyond them would cost time or memory without end."""

from __future__ import annotations

MIB = 1 << 20

# One answer on the wire. Pieces of the metadata log are 8 MiB, pages of partitions some hundred kB; the rest is for topics whose max.message.bytes is
# huge: a batch comes whole even if less is asked for. Together with the copy that is made of a batch it stays below 300 MB.
FRAME_BYTES = 64 * MIB
# The objects that one answer becomes: Metadata of 150,000 partitions. An answer grows by up to forty times when it is decoded.
ANSWER_BYTES = 96 * MIB
# What is kept of the answers of all nodes to one round of questions, or to two that belong together: 500,000 replicas or committed offsets.
KEPT_BYTES = 96 * MIB
# The same with answers that are half received, or decoded and not read yet, and with what the table of partitions takes beyond FREE_TABLE_BYTES.
CLIENT_BYTES = 160 * MIB
# What is read about a partition. Tables of 50,000 partitions leave all of CLIENT_BYTES to answers.
PARTITION_BYTES, FREE_TABLE_BYTES = 1000, 48 * MIB
# An answer of at most this size is received at once, one that is larger when there is room for it.
SMALL_BYTES = 16 << 10
# kafka-python copies what is left of an answer for every row with tagged fields: seconds at most.
COPIED_BYTES = 2048 * MIB
# Letters of a host name (RFC 1035), and of a rack, for which Kafka has no limit.
NAME_LETTERS = 255
# Kafka's own limit of a string, also where the encoding allows more.
STRING_BYTES = 32_767
# What is read from a socket before it is looked at: a node that sends faster than Python reads would never be looked at.
RECEIVED_BYTES = MIB
# Controllers write batches of at most 8 MiB, and transactions of some batches: the records of one CreateTopics or CreatePartitions request.
PENDING_BYTES = 64 * MIB
# Changes of partitions that are kept of the metadata log: one takes 600 bytes, and every partition has one at least.
CHANGES_BYTES = 128 * MIB
METADATA_BATCH_BYTES = 16 * MIB
# Kafka 4 has been run with 2,000,000 partitions; what is read about one takes about 1 kB here, so a whole cluster of more has to be read in parts.
PARTITIONS = 150_000
# Broker ids in one list of a partition: its replicas, or its ISR. Most partitions have three replicas, and a reassignment doubles them.
IDS = 32
# Broker ids in all lists of these partitions: replicas, ISR, ELR and so on. Three replicas make six to nine.
REPLICA_IDS = 12 * PARTITIONS
# Partitions, their replicas, and pairs of replicas whose logs are compared, of which the evidence is gathered at once: 28,000 partitions of three
# replicas each.
EVIDENCE_ROWS = 200_000
# Partitions that a module returns. One takes about 5 kB there, most of it as JSON.
RETURNED_PARTITIONS = 10_000
# The largest clusters that are talked about have some hundreds of brokers. Each unfenced one is given a connection, each fenced one a thread.
BROKERS = 2_000
# A page is answered in a tenth of a second. In a cluster that pages as slowly as `request_timeout` allows, so many pages are waited for.
SLOW_PAGES = 30
# Groups or transactions that one broker coordinates. A broker that works has some thousands; they are described page by page.
LISTED_NAMES = 20_000
# Leader epochs that groups committed on one partition: each is a request by itself. A partition changes its leader a few times while groups lag.
EPOCHS = 200
# Configs of topics that are kept: 70,000 topics with throttled replicas. One list takes up to 32 kB.
CONFIGS_BYTES = 32 * MIB
# Controllers that vote: three or five, and some more while they are replaced.
VOTERS = 200
# Listeners of one controller: one for each network that it is in.
LISTENERS = 20


def is_address(host: str, port: int) -> bool:
    """Whether host and port can be connected to at all. Without this check a name resolver raises UnicodeError, ValueError or OverflowError."""
    if not host or not host.isprintable() or " " in host or not 0 < port < 1 << 16:
        return False
    try:
        host.rstrip(".").encode("idna")
    except UnicodeError:  # a label is empty or longer than 63 bytes
        return False
    return True
