# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configs of topics that another administrator sets on a simulated and on a real cluster, between the steps of a script (`real_twin.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

from kafka.protocol.admin import IncrementalAlterConfigsRequest

from rig import KafkaCluster
from rig.rpc import ask
from simulation.cluster import SimulatedCluster
from simulation.dynamic_configs import DELETE, SET, TOPIC
from simulation.kafka_errors import code
from simulation.settings import MIN_ISR, UNCLEAN

WEIGHTS = {UNCLEAN: 3, MIN_ISR: 2}
VALUES: dict[str, tuple[str | None, ...]] = {UNCLEAN: ("true", "true", "false", None), MIN_ISR: ("1", "2", None)}
FREQUENCY = 0.6  # of such a step before another one
REQUEST_SECONDS = 20.0


class TwinSettings:
    """Sets configs of some topics on both clusters. It draws from a `Random` of its own, so that the other steps of a script stay what they are.

    `weights`: how often each config is drawn.
    """

    def __init__(
        self, simulated: SimulatedCluster, real: KafkaCluster, topics: Iterable[str], seed: int, weights: Mapping[str, int]
    ) -> None:
        self._simulated, self._real, self._topics, self._weights = simulated, real, list(topics), weights
        self._random = Random(f"settings of {seed}")

    def step(self) -> str | None:
        """Set or remove one config of some topics, or do nothing (None). Return what was done; an AssertionError if the errors differ."""
        if self._random.random() >= FREQUENCY:
            return None
        (name,) = self._random.choices(list(self._weights), list(self._weights.values()))
        value = self._random.choice(VALUES[name])
        chosen = self._random.sample(self._topics, self._random.randint(1, len(self._topics)))
        step = f"{name} {'is removed' if value is None else f'becomes {value}'} for {', '.join(sorted(chosen))}"
        errors = {topic: code(self._simulated.set_config((TOPIC, topic), name, value)) for topic in chosen}
        kind = IncrementalAlterConfigsRequest.AlterConfigsResource
        config = kind.AlterableConfig(name=name, config_operation=DELETE if value is None else SET, value=value)
        rows = [kind(resource_type=TOPIC, resource_name=topic, configs=[config]) for topic in chosen]
        request = IncrementalAlterConfigsRequest[1](resources=rows, validate_only=False)
        answer = self._real.ask(lambda node: ask(node, request, REQUEST_SECONDS))
        found = {row.resource_name: row.error_code for row in answer.responses}
        if errors != found:
            raise AssertionError(f"{step}: errors (simulated, real): {errors}, {found}")
        return step
