# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The releases of Kafka that are simulated: the requests that their nodes take, and what they do not do yet."""

from __future__ import annotations

from dataclasses import dataclass

from kafka.protocol.broker_version_data import BrokerVersionData

Versions = dict[int, tuple[int, int]]  # API key → lowest and highest version

_BROKERS: Versions = {
    1: (4, 18), 2: (1, 11), 3: (0, 13), 8: (2, 10), 9: (1, 10), 10: (0, 6), 15: (0, 6), 16: (0, 5), 18: (0, 5), 23: (2, 4), 27: (1, 2), 32: (1, 4), 35: (1, 5),
    43: (0, 2), 44: (0, 1), 45: (0, 1), 46: (0, 0), 55: (0, 2), 60: (0, 2), 61: (0, 0), 65: (0, 0), 66: (0, 2), 75: (0, 0),
}  # fmt: skip
_OLD_BROKERS: Versions = {
    1: (0, 17), 2: (0, 9), 3: (0, 12), 8: (0, 9), 9: (0, 9), 10: (0, 6), 15: (0, 5), 16: (0, 5), 18: (0, 4), 23: (0, 4), 27: (0, 1), 32: (0, 4), 35: (0, 4),
    43: (0, 2), 44: (0, 1), 45: (0, 0), 46: (0, 0), 55: (0, 2), 60: (0, 1), 61: (0, 0), 65: (0, 0), 66: (0, 1), 75: (0, 0),
}  # fmt: skip
# They take Fetch from version 0 or 4 on, too, but refuse what is older than 13 for their metadata log.
_CONTROLLERS: Versions = {1: (13, 18), 18: (0, 5), 32: (1, 4), 43: (0, 2), 44: (0, 1), 55: (0, 2), 59: (0, 1)}
_OLD_CONTROLLERS: Versions = {**_CONTROLLERS, 1: (13, 17), 18: (0, 4), 32: (0, 4)}
ELR_FEATURE = "eligible.leader.replicas.version"


@dataclass(frozen=True, eq=False)
class Release:
    """A release of Kafka.

    metadata_version   the level of `metadata.version` that it formats clusters with
    record_version     of records of partitions in the metadata log, with that level
    is_oldest          it is 3.9: no eligible leader replicas (KIP-966), no epoch for each transaction (KIP-890), and a move awaits all of its target
    """

    name: str
    brokers: BrokerVersionData
    controllers: BrokerVersionData
    metadata_version: int
    record_version: int
    is_oldest: bool


NEWEST = Release("4.3", BrokerVersionData(api_versions=_BROKERS), BrokerVersionData(api_versions=_CONTROLLERS), 30, 2, False)
OLDEST = Release("3.9", BrokerVersionData(api_versions=_OLD_BROKERS), BrokerVersionData(api_versions=_OLD_CONTROLLERS), 21, 1, True)
RELEASES = {one.name: one for one in (NEWEST, OLDEST)}
