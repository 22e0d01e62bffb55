# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every registration of three replicas in every state of their brokers, and which of these partitions wait for an election that never comes."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from itertools import chain, combinations, permutations, product

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision import controller
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    COMING_BACK,
    FENCED,
    UNFENCED,
    State,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from model.evidence import Standing, evidence
from model.partition import Replica

BROKERS = (0, 1, 2)
# A broker that lives, and whose disk with the log has failed: no survivor.
WITHOUT_DISK = "without_disk"


def standings() -> Iterator[Standing]:
    """Every ISR and ELR without a broker in both, each with every last known leader and with none."""
    subsets = list(chain.from_iterable(combinations(BROKERS, count) for count in range(len(BROKERS) + 1)))
    last_known: list[tuple[int, ...]] = [(), *((broker,) for broker in BROKERS)]
    for isr, elr, last in product(subsets, subsets, last_known):
        if not {*isr} & {*elr}:
            yield Standing(7, isr, elr, last)


def waits_in_vain(disks_may_fail: bool) -> tuple[Counter[str], list[tuple[Standing, tuple[str, ...]]]]:
    """What is held for a clean leader though no broker that is there or comes back, in any order and after any shutdown, becomes one."""
    kinds = (FENCED, UNFENCED, COMING_BACK) if not disks_may_fail else (FENCED, UNFENCED, COMING_BACK, WITHOUT_DISK)
    counted: Counter[str] = Counter()
    in_vain = []
    for standing, states in product(standings(), product(kinds, repeat=len(BROKERS))):
        survivors = {broker: Replica((0,)) for broker, state in zip(BROKERS, states, strict=True) if state == UNFENCED}
        disks = [broker for broker, state in zip(BROKERS, states, strict=True) if state == WITHOUT_DISK]
        back = [broker for broker, state in zip(BROKERS, states, strict=True) if state == COMING_BACK]
        known = evidence(survivors, standing=standing, without_disk=disks)
        # The fourth broker has no replica here.
        assert known.state is not None
        state: State = known.state._replace(replicas=BROKERS)
        logs = tuple(
            log._replace(broker_state=COMING_BACK) if log.broker_id in back else log for log in known.logs if log.broker_id in BROKERS
        )
        decision = decide(dataclasses.replace(known, state=state, logs=logs), Policy(Strategy.BALANCED))
        counted[decision.reason or "elected"] += 1
        if decision.reason == "wait_for_clean_leader":
            registration = controller.Registration(BROKERS, standing.isr, standing.elr, standing.last_known_elr)
            elections = {
                election
                for order in permutations(back)
                for election in controller.possible(
                    registration, {*survivors}, controller.ElectionConfig(None, False), [(one, None) for one in order]
                )
            }
            # A broker that is unfenced now may restart, and not cleanly: that is how waited_for has it.
            restarts = {
                election
                for order in permutations([*survivors, *back])
                for election in controller.possible(
                    registration, (), controller.ElectionConfig(None, False), [(one, None) for one in order]
                )
            }
            if elections | restarts <= {None}:
                in_vain.append((standing, states))
    return counted, in_vain
