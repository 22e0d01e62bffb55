# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Event source: watches Kafka clusters for partitions without a live leader."""

from __future__ import annotations

import asyncio
import logging
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# ansible-rulebook runs a source from its path: what belongs to it is found from there.
_PARENTS = Path(__file__).absolute().parents
if len(_PARENTS) > 7 and _PARENTS[6].name == "ansible_collections" and str(_PARENTS[7]) not in sys.path:
    sys.path.append(str(_PARENTS[7]))

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events import fleet
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.outages import Look, Outages, Pace

DOCUMENTATION = r"""
---
short_description: Watch Kafka clusters for partitions without a live leader
description:
  - An ansible-rulebook event source that looks at every cluster of a fleet again and again, and tells when an outage begins, grows and is over.
  - Each cluster is looked at by itself. One that is slow or hangs delays no other. One that cannot be reached is asked less and less often.
  - Reads only. Needs DESCRIBE on the cluster and on the topics.
  - An outage that goes on is told once, not with every look. C(partitions_offline) has C(change), which is C(begins), C(grows) or (see O(remind))
    C(continues). C(partitions_back) is told when no partition is without a leader any more, C(cluster_unreachable) once until it answers again.
  - Events have C(type), C(cluster), C(cluster_id), C(at) (UTC), C(run_id) (for the playbook that is run) and C(meta.hosts), which limits what a
    rulebook does to this cluster. Those of an outage have C(incident), the same until it is over and after a restart of this source, too, as
    long as the same partitions are offline; C(since), C(count), C(new), C(offline_brokers) and the first C(partitions).
  - Names in events are those that Kafka allows, and no text in them is a template.
options:
  inventory:
    description:
      - The inventory that the playbooks use, a file or a directory. Its hosts of the group C(kafka_clusters) are watched, with their C(kafka_*)
        variables, templates and Vault resolved by Ansible. Read when the source starts.
      - One of O(inventory) and O(clusters) is needed, and both may be given.
    type: path
  clusters:
    description:
      - A list with C(name) and the connection options of the modules (C(bootstrap_servers), C(security_protocol) and so on) of each cluster. The name
        is that of the host in the inventory of the playbooks.
    type: list
    elements: dict
  interval:
    description: Seconds from one look at a cluster to the next.
    type: float
    default: 5
  jitter:
    description: Up to so many seconds more, at random, so that not all clusters are asked at once.
    type: float
    default: 1
  backoff_min:
    description: Seconds until a cluster that did not answer is asked again. Doubled each time that it does not.
    type: float
    default: 5
  backoff_max:
    description: Seconds that are not gone beyond by that.
    type: float
    default: 60
  request_timeout:
    description: Seconds within which a broker has to answer. Default is each cluster's own C(kafka_request_timeout), or 10.
    type: float
  look_timeout:
    description: Seconds after which a look that has not come back counts as failed. No other one is begun until it has.
    type: float
    default: 60
  remind:
    description: Seconds after which an outage that goes on is told again, V(0) for never.
    type: float
    default: 0
  unreachable_after:
    description: Looks that have to fail in a row before C(cluster_unreachable) is told.
    type: int
    default: 2
requirements:
  - kafka-python >= 3.0.12, < 3.1
"""

EXAMPLES = r"""
- streamops.kafka_recovery.fleet:
    inventory: /etc/kafka-recovery/inventory.yml
    interval: 5
    remind: 300

- streamops.kafka_recovery.fleet:
    clusters:
      - name: east
        bootstrap_servers: broker-1.east.example.com:9092,broker-2.east.example.com:9092
      - name: west
        bootstrap_servers: broker-1.west.example.com:9093
        security_protocol: SASL_SSL
        sasl_mechanism: SCRAM-SHA-512
        sasl_username: recovery
        sasl_password: "{{ west_password }}"
"""

logger = logging.getLogger("streamops.kafka_recovery.fleet")

# Option → type, what it has to be at least, default.
NUMBERS: dict[str, tuple[type, float, Any]] = {
    "interval": (float, 0.1, 5.0),
    "jitter": (float, 0.0, 1.0),
    "backoff_min": (float, 0.1, 5.0),
    "backoff_max": (float, 0.1, 60.0),
    "request_timeout": (float, 0.1, None),
    "look_timeout": (float, 1.0, 60.0),
    "remind": (float, 0.0, 0.0),
    "unreachable_after": (int, 1, 2),
}
# ansible-rulebook's own.
GIVEN = ("eda_feedback_queue",)


def numbers(args: dict[str, Any]) -> dict[str, Any]:
    """The options that are numbers. FleetError names one that is none or too small, and any option that there is not."""
    unknown = sorted(set(args) - set(NUMBERS) - {"inventory", "clusters", *GIVEN})
    if unknown:
        raise fleet.FleetError(
            f"{unknown[0]!r:.80} is no option of streamops.kafka_recovery.fleet; there are inventory, clusters, {', '.join(NUMBERS)}"
        )
    found: dict[str, Any] = {}
    for name, (kind, least, default) in NUMBERS.items():
        value = default if args.get(name) is None else args[name]
        try:
            number = None if value is None else kind(str(value))
        except ValueError:
            number = float("nan")
        if number is not None and not least <= number < float("inf"):
            raise fleet.FleetError(f"{name} is {value!r:.80}: it has to be a number, {least:g} or more")
        found[name] = number
    if found["backoff_max"] < found["backoff_min"]:
        raise fleet.FleetError(
            f"backoff_max ({found['backoff_max']:g}) is less than backoff_min ({found['backoff_min']:g}): make it the larger one"
        )
    return found


class Watch:
    """Of one cluster, for as long as the source runs."""

    def __init__(self, queue: Any, looker: Any, outages: Outages, pace: Pace, look_timeout: float) -> None:
        self._queue = queue
        self._looker = looker
        self._outages = outages
        self._pace = pace
        self._look_timeout = look_timeout
        self._under_way: asyncio.Future[Look] | None = None

    async def run(self) -> None:
        """Look, tell, wait; never end."""
        while True:
            for event in await self._events():
                logger.info("%s: %s %s", event["cluster"], event["type"], event.get("incident", event.get("reason", "")))
                await self._queue.put(event)
            # Where the random number comes from is of no importance to anybody.
            await asyncio.sleep(self._pace.pause(self._outages.failures, random.random()))

    async def _events(self) -> list[dict[str, Any]]:
        try:
            look = await self._look()
        except TimeoutError:
            return self._outages.missed(f"a look at it has not come back within {self._look_timeout:g} s", time.time())
        except SpokenError as error:
            return self._outages.missed(str(error), time.time())
        except Exception as error:  # whatever it is, it is this cluster's, and the others go on
            logger.debug("%s: cannot be looked at", self._outages.cluster, exc_info=True)
            return self._outages.missed(f"{type(error).__name__}: {error}", time.time())
        return self._outages.seen(look, time.time())

    async def _look(self) -> Look:
        """In a thread of its own, which a cluster that hangs may keep for as long as it likes."""
        if self._under_way is None:
            self._under_way = in_thread(self._looker.look)
        done, _pending = await asyncio.wait([self._under_way], timeout=self._look_timeout)
        if not done:
            raise TimeoutError
        finished, self._under_way = self._under_way, None
        return finished.result()


def in_thread(work: Callable[[], Any]) -> asyncio.Future[Any]:
    """Start `work` in a thread that does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def tell(result: Any, error: BaseException | None) -> None:
        if not future.done():
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as problem:
            error = problem
        try:
            loop.call_soon_threadsafe(tell, result, error)
        except RuntimeError:  # the source has ended meanwhile
            logger.debug("nobody waits for a look any more")

    threading.Thread(target=run, daemon=True).start()
    return future


async def main(queue: Any, args: dict[str, Any]) -> None:
    """Watch until cancelled. Raises FleetError for arguments that cannot be used."""
    options = numbers(args)
    found = await in_thread(lambda: fleet.connections(args.get("clusters"), args.get("inventory"), options["request_timeout"]))
    pace = Pace(options["interval"], options["jitter"], options["backoff_min"], options["backoff_max"])
    lookers = {name: fleet.Looker(connection) for name, connection in found.items()}
    watches = [
        Watch(queue, looker, Outages(name, options["remind"], options["unreachable_after"]), pace, options["look_timeout"])
        for name, looker in lookers.items()
    ]
    logger.info("watching %s", ", ".join(sorted(found)))
    try:
        await asyncio.gather(*(watch.run() for watch in watches))
    finally:
        for looker in lookers.values():
            in_thread(looker.close)


if __name__ == "__main__":
    # By hand: python fleet.py '{"inventory": "inventory.yml"}' prints what it would tell.
    import json

    class Printed:
        """A queue that prints."""

        async def put(self, event: dict[str, Any]) -> None:
            """Print an event."""
            print(json.dumps(event), flush=True)

    asyncio.run(main(Printed(), json.loads(sys.argv[1])))
