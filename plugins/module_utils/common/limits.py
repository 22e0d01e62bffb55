# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of what is accepted from a broker. No working cluster comes near them; more would take unlimited time or memory."""

from __future__ import annotations

MIB = 1 << 20

# One answer on the wire. Pieces of the metadata log are 8 MiB, pages of partitions some hundred kB; the rest is for topics with a huge
# max.message.bytes: a batch comes whole even if the request has a smaller limit. With the copy that is made of a batch it stays below 300 MB.
FRAME_BYTES = 64 * MIB
# The objects of one decoded answer: Metadata of 150,000 partitions. An answer grows by up to forty times when it is decoded.
ANSWER_BYTES = 96 * MIB
# The results of all nodes' answers to one round of requests, or to two related rounds: 500,000 replicas or committed offsets.
KEPT_BYTES = 96 * MIB
# The same with answers that are half received, or decoded and not read yet, and with the table of partitions beyond FREE_TABLE_BYTES.
CLIENT_BYTES = 160 * MIB
# The state of one partition. Tables of up to 50,000 partitions leave all of CLIENT_BYTES to answers.
PARTITION_BYTES, FREE_TABLE_BYTES = 1000, 48 * MIB
# A smaller answer is received at once, a larger one when there is room for it.
SMALL_BYTES = 16 << 10
# kafka-python copies the rest of an answer for every row with tagged fields: this many bytes take seconds at most.
COPIED_BYTES = 2048 * MIB
# Letters of a host name (RFC 1035), and of a rack, for which Kafka has no limit.
NAME_LETTERS = 255
# Kafka's own limit of a string, also where the encoding allows more.
STRING_BYTES = 32_767
# Bytes that are read from a socket before they are parsed: the bytes of a node that sends faster than Python reads would never be parsed.
RECEIVED_BYTES = MIB
# Controllers write batches of at most 8 MiB, and transactions of some batches: the records of one CreateTopics or CreatePartitions request.
PENDING_BYTES = 64 * MIB
# Changes of partitions from the metadata log: one takes 600 bytes, and every partition has at least one.
CHANGES_BYTES = 128 * MIB
METADATA_BATCH_BYTES = 16 * MIB
# Kafka 4 has been run with 2,000,000 partitions. The state of one takes about 1 kB here, so larger clusters must be read in parts.
PARTITIONS = 150_000
# Broker ids in one list of a partition: its replicas, or its ISR. Most partitions have three replicas, and a reassignment doubles them.
IDS = 32
# Broker ids in all lists of these partitions: replicas, ISR, ELR and so on. Three replicas make six to nine.
REPLICA_IDS = 12 * PARTITIONS
# Partitions, their replicas, and pairs of replicas whose logs are compared, whose evidence is collected at once unless an operator sets another
# number: 28,000 partitions of three replicas each. ROW_KB: memory of one row, as collected and as decided on.
EVIDENCE_ROWS, ROW_KB = 200_000, 1
# Partitions that a module returns. One takes about 5 kB, most of it as JSON.
RETURNED_PARTITIONS = 10_000
# The largest known clusters have some hundreds of brokers. Each unfenced one gets a connection, each fenced one a thread.
BROKERS = 2_000
# Pages that a client waits for if each takes as long as `request_timeout` allows. Usually one takes a tenth of a second.
SLOW_PAGES = 30
# Groups or transactions that one broker coordinates. A working broker has some thousands; they are described in pages.
LISTED_NAMES = 20_000
# Leader epochs that groups committed on one partition: each needs its own request. A partition changes its leader a few times while groups lag.
EPOCHS = 200
# Configs of topics in memory: 70,000 topics with throttled replicas. One list takes up to 32 kB.
CONFIGS_BYTES = 32 * MIB
# Voters: three or five controllers, and some more while they are replaced.
VOTERS = 200
# Records of one batch once they are decompressed: one of 64 MiB may become much more, but producers compress at most some MB at once.
RECORDS_BYTES = 128 * MIB
# Headers of one record: producers send some tens.
RECORD_HEADERS = 100_000
# Listeners of one controller: one for each of its networks.
LISTENERS = 20
# What separates the parts of an address, [host]:port or PROTOCOL://host:port, and stands in no host.
DELIMITERS = frozenset(" []/")


def joined_address(host: str, port: int) -> str:
    """Return an address as `bootstrap_servers` has it. An IPv6 address gets brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_address(host: str, port: int) -> bool:
    """Return whether host and port form a valid address. For others a name resolver, or kafka-python, raises UnicodeError, ValueError or OverflowError."""
    if not host or not host.isprintable() or not DELIMITERS.isdisjoint(host) or not 0 < port < 1 << 16:
        return False
    try:
        host.rstrip(".").encode("idna")
    except UnicodeError:  # a label is empty or longer than 63 bytes
        return False
    return True
