# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Event source: watches Kafka clusters for partitions without a live leader."""

from __future__ import annotations

import asyncio
import logging
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

# ansible-rulebook runs a source from its path, so the collection is imported from there.
_PARENTS = Path(__file__).absolute().parents
if len(_PARENTS) > 7 and _PARENTS[6].name == "ansible_collections" and str(_PARENTS[7]) not in sys.path:
    sys.path.append(str(_PARENTS[7]))

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numeric_options import check_workdir
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events import fleet
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.active_watcher import ActiveWatcher
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.outages import (
    ClusterObservation,
    OutageTracker,
    PollInterval,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.threads import in_thread
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.killed_runs import KilledRuns
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.edges import local_options

DOCUMENTATION = r"""
---
short_description: Watch Kafka clusters for partitions without a live leader
description:
  - An ansible-rulebook event source that polls every cluster of a fleet, and sends an event when an outage begins, grows and ends.
  - Clusters are polled independently. A cluster that is slow or hangs delays no other. A cluster that cannot be reached is polled less and less often.
  - Reads only. Needs DESCRIBE on the cluster and on the topics.
  - An outage that continues is sent once, not with every poll. C(partitions_offline) has C(change), which is C(begins), C(grows) or (see O(remind))
    C(continues). C(partitions_back) is sent when every partition has a leader again, C(cluster_unreachable) once until the cluster answers again.
  - Events have C(type), C(cluster), C(cluster_id), C(at) (UTC), C(run_id) (for the playbook that is run) and C(meta.hosts), which limits the actions of
    a rulebook to this cluster. Events of an outage have C(incident), C(since), C(count), C(new), C(offline_brokers) and the first C(partitions).
    C(incident) stays the same until the outage ends, also after a restart of this source if the same partitions are offline.
  - Several sources with one O(workdir) are one watch. One of them is active and sends events, the others stand by. If the active one ends, or its machine
    does, another one becomes active, and sends the outages that it finds. One that stands by logs an error if the active one does not watch all of its
    clusters. C(watcher) in events names the active one, and is empty without O(workdir).
  - With O(workdir), a source that becomes active reads the journal of each cluster there. If a run was killed before it restored replica orders, it sends
    C(orders_not_restored) with the C(count) of their partitions. If another run has the journal open, it waits until that run has ended. With O(remind), it
    reads the journal again after these seconds, and sends what is still not restored, or was left since.
  - Events hold only names that Kafka allows, and no text in them is a template.
options:
  inventory:
    description:
      - The inventory that the playbooks use, a file or a directory. Its hosts of the group C(kafka_clusters) are watched, with their C(kafka_*)
        variables, templates and Vault resolved by Ansible. Read when the source starts.
      - At least one of O(inventory) and O(clusters) is needed.
    type: path
  clusters:
    description:
      - A list with C(name) and the connection options of the modules (C(bootstrap_servers), C(security_protocol) and so on) of each cluster. The name
        is that of the host in the inventory of the playbooks.
    type: list
    elements: dict
  interval:
    description: Seconds between two polls of a cluster.
    type: float
    default: 5
  jitter:
    description: Maximum of the random seconds that are added to O(interval), so that not all clusters are polled at once.
    type: float
    default: 1
  backoff_min:
    description: Seconds until a cluster that did not answer is polled again. Doubled after each further failure.
    type: float
    default: 5
  backoff_max:
    description: Maximum of these seconds.
    type: float
    default: 60
  request_timeout:
    description: Seconds within which a broker must answer. Default is each cluster's own C(kafka_request_timeout), or 10.
    type: float
  look_timeout:
    description: Seconds after which a poll that has not finished counts as failed. The next poll begins only after it has finished.
    type: float
    default: 60
  remind:
    description: Seconds after which an outage that continues, and orders that are still not restored, are sent again, V(0) for never.
    type: float
    default: 0
  workdir:
    description:
      - The workdir of the playbooks, if several sources watch the same clusters. It must be the same for all of them.
      - It is a folder on one machine or on a file system with locks that these machines share, or the URL of a folder in an object store.
      - Without it the source is always active.
    type: path
  unreachable_after:
    description: Polls that must fail in a row before C(cluster_unreachable) is sent.
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

# Option → type, minimum, default.
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
OTHERS = ("inventory", "clusters", "workdir")
# ansible-rulebook adds these itself.
ADDED_OPTIONS = ("eda_feedback_queue",)


def numbers(args: dict[str, Any]) -> dict[str, Any]:
    """Return the options that are numbers. Raises RecoveryError for a value that is not a number or too small, and for an unknown option."""
    unknown = sorted(set(args) - set(NUMBERS) - {*OTHERS, *ADDED_OPTIONS})
    if unknown:
        raise RecoveryError(
            f"{unknown[0]!r:.80} is not an option of streamops.kafka_recovery.fleet; options are {', '.join((*OTHERS, *NUMBERS))}"
        )
    found: dict[str, Any] = {}
    for name, (kind, least, default) in NUMBERS.items():
        value = default if args.get(name) is None else args[name]
        try:
            number = None if value is None else kind(str(value))
        except ValueError:
            number = float("nan")
        if number is not None and not least <= number < float("inf"):
            raise RecoveryError(f"{name} is {value!r:.80}: it must be a number, {least:g} or more")
        found[name] = number
    if found["backoff_max"] < found["backoff_min"]:
        raise RecoveryError(
            f"backoff_max ({found['backoff_max']:g}) is less than backoff_min ({found['backoff_min']:g}): make it the larger one"
        )
    return found


class Alone:
    """What stands for an ActiveWatcher if no other source has the same workdir."""

    watcher: str | None = ""


class Watch:
    """Polls one cluster and puts its events into the queue while this source is active, for as long as it runs.

    `outages`: returns a tracker that has seen no outage yet.
    """

    def __init__(
        self,
        queue: Any,
        observer: Any,
        outages: Callable[[], OutageTracker],
        interval: PollInterval,
        look_timeout: float,
        active: ActiveWatcher | Alone,
        killed_runs: KilledRuns,
    ) -> None:
        self._queue = queue
        self._observer = observer
        self._new_tracker, self._outages = outages, outages()
        self._interval = interval
        self._look_timeout = look_timeout
        self._active, self._watcher = active, active.watcher
        self._killed_runs = killed_runs
        self._under_way: asyncio.Future[ClusterObservation] | None = None

    async def run(self) -> None:
        """Poll, send events, wait; never end."""
        while True:
            for event in await self._events():
                if self._active.watcher is None or self._active.watcher != self._watcher:
                    continue
                event["watcher"] = self._watcher
                logger.info("%s: %s %s", event["cluster"], event["type"], event.get("incident", event.get("reason", "")))
                await self._queue.put(event)
            # The random number needs no secure source.
            await asyncio.sleep(self._interval.pause(self._outages.failures, random.random()))

    async def _events(self) -> list[dict[str, Any]]:
        if self._watcher is None or self._watcher != self._active.watcher:
            # Only an active source sends events. One that becomes active sends each outage from its beginning.
            self._watcher, self._outages = self._active.watcher, self._new_tracker()
            self._killed_runs.restart()
        try:
            observation = await self._poll()
        except TimeoutError:
            return self._outages.on_failure(f"a poll has not finished within {self._look_timeout:g} s (look_timeout)", time.time())
        except RecoveryError as error:
            return self._outages.on_failure(str(error), time.time())
        except Exception as error:  # any error of one cluster must not stop the others
            logger.debug("%s: cannot be polled", self._outages.cluster, exc_info=True)
            return self._outages.on_failure(f"{type(error).__name__}: {error}", time.time())
        events = self._outages.on_success(observation, time.time())
        # An outage is sent first: the run that it starts restores orders, too.
        return events if self._watcher is None else events + self._killed_runs.events(observation.cluster_id, time.time())

    async def _poll(self) -> ClusterObservation:
        """Observe the cluster in a thread of its own, which a cluster that hangs can block without delaying others."""
        if self._under_way is None:
            self._under_way = in_thread(self._observer.observe)
        done, _pending = await asyncio.wait([self._under_way], timeout=self._look_timeout)
        if not done:
            raise TimeoutError
        finished, self._under_way = self._under_way, None
        return finished.result()


async def take_turns(active: ActiveWatcher, seconds: float) -> None:
    """Become active as soon as no other source is, and stand by again if another one has taken over. Never ends."""
    shown: str | None = ""  # the id that the log had last; empty before the first line
    while True:
        try:
            await in_thread(active.check)
            is_known = True
        except RecoveryError as error:
            logger.error("%s", error)
            is_known = shown != ""
        if is_known and active.watcher != shown:
            shown = active.watcher
            logger.info("%s", "stands by: another source on this workdir is active" if shown is None else f"active as {shown}")
        await asyncio.sleep(seconds)


def _workdir(given: object) -> Path:
    """Return the folder of the option `workdir`. One in an object store is mounted for the rest of this process. Raises RecoveryError if it is not valid."""
    workdir = str(given)
    check_workdir({"workdir": workdir})
    return Path(local_options({"workdir": workdir}).get("workdir", workdir)).expanduser()


async def main(queue: Any, args: dict[str, Any]) -> None:
    """Watch all clusters until cancelled. Raises RecoveryError if an argument is not valid."""
    options = numbers(args)
    connections = await in_thread(lambda: fleet.connections(args.get("clusters"), args.get("inventory"), options["request_timeout"]))
    interval = PollInterval(options["interval"], options["jitter"], options["backoff_min"], options["backoff_max"])
    observers = {name: fleet.ClusterObserver(connection) for name, connection in connections.items()}
    workdir = await in_thread(lambda: _workdir(args["workdir"])) if args.get("workdir") else None
    active = ActiveWatcher(workdir, connections) if workdir else Alone()

    def tracker(name: str) -> OutageTracker:
        return OutageTracker(name, options["remind"], options["unreachable_after"])

    watches = [
        Watch(
            queue, observer, partial(tracker, name), interval, options["look_timeout"], active, KilledRuns(name, workdir, options["remind"])
        )
        for name, observer in observers.items()
    ]
    turns = [take_turns(active, options["interval"])] if isinstance(active, ActiveWatcher) else []
    logger.info("watching %s", ", ".join(sorted(connections)))
    try:
        await asyncio.gather(*turns, *(watch.run() for watch in watches))
    finally:
        if isinstance(active, ActiveWatcher):
            active.stop()
        for observer in observers.values():
            in_thread(observer.close)


if __name__ == "__main__":
    # By hand: python fleet.py '{"inventory": "inventory.yml"}' prints the events.
    import json

    class Printed:
        """A queue that prints."""

        async def put(self, event: dict[str, Any]) -> None:
            """Print an event."""
            print(json.dumps(event), flush=True)

    asyncio.run(main(Printed(), json.loads(sys.argv[1])))
