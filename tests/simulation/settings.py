# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configs of topics that operators change while the cluster runs, and which controllers and leaders obey."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from simulation.dynamic_configs import BROKER, EVERY_BROKER, TOPIC, Resource, Values

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
DEFAULTS = {MIN_ISR: "1", UNCLEAN: "false"}  # of the files of all nodes
INVALID = "INVALID_CONFIG"


def in_force(values: Mapping[Resource, Values], name: str, topic: str, broker: int | None = None) -> str:
    """Return the value of a topic's config as a broker has it, or as the controllers have it (None)."""
    places = [(TOPIC, topic), *([] if broker is None else [(BROKER, str(broker))]), (BROKER, EVERY_BROKER)]
    return next((values[place][name] for place in places if name in values.get(place, {})), DEFAULTS[name])


def min_isr(values: Mapping[Resource, Values], topic: str, broker: int | None = None) -> int:
    """Return min.insync.replicas of a topic as `in_force` does. A partition with fewer replicas needs all of them (KIP-966)."""
    return int(in_force(values, MIN_ISR, topic, broker))


def least_min_isr(values: Mapping[Resource, Values], topic: str, brokers: Collection[int]) -> int | None:
    """Return the least min.insync.replicas of a topic with which any of the brokers may lead. None if only files of brokers say it, which no log has."""
    if not any(MIN_ISR in values.get(place, {}) for place in ((TOPIC, topic), (BROKER, EVERY_BROKER))):
        return None
    return min(min_isr(values, topic, broker) for broker in (None, *brokers))


def refusal(elr: bool, resource: Resource, name: str, value: str | None) -> str | None:
    """Return Kafka's error for a change of a config. With eligible leader replicas all brokers must have the same min.insync.replicas, in the log."""
    is_of_brokers = elr and name == MIN_ISR and resource[0] == BROKER
    return INVALID if is_of_brokers and (resource[1] != EVERY_BROKER or value is None) else None
