"""A fleet in the background: the process that owns it.

It lives until it gets SIGTERM (`python -m rig down`), or until the process dies that the fleet was started for. Progress goes to its
standard output until the fleet is ready, which it shows by closing that.
"""

import json
import os
import secrets
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka.admin import AdminClient

from rig.background import state_file
from rig.cluster import KafkaCluster
from rig.damage import Damage
from rig.errors import RigError
from rig.fleet import Fleet, default_names, write_inventory
from rig.gate import Gate

OWNER_CHECK_SECONDS = 0.5
FORGET_SECONDS = 120


def say_on_stdout(line: str) -> None:
    print(line, flush=True)


class Daemon:
    """Commands arrive one at a time, each on a connection of its own: a dict whose "do" is one of this class's commands.

    The answer is any number of ("say", line), and then ("done", result) or ("error", text).
    """

    def __init__(self) -> None:
        self.say: Callable[[str], None] = say_on_stdout
        self.fleet: Fleet | None = None
        self._breaks = 0

    def progress(self, line: str) -> None:
        self.say(line)

    def serve(self, fleet: Fleet, listener: Listener) -> None:
        """Answer commands for ever."""
        self.fleet = fleet
        commands: dict[str, Callable[..., Any]] = {"status": self.status, "break": self.inflict, "kill": self.kill, "heal": self.heal}
        while True:
            with suppress(EOFError, OSError), listener.accept() as connection:
                request = connection.recv()
                self._answer(connection, commands[request.pop("do")], request)

    def _answer(self, connection: Connection, command: Callable[..., Any], request: dict[str, Any]) -> None:
        lock = threading.Lock()  # clusters report side by side

        def tell(line: str) -> None:
            with lock, suppress(OSError):  # the client may have gone; what was begun is finished all the same
                connection.send(("say", line))

        self.say = tell
        try:
            connection.send(("done", command(**request)))
        except (RigError, ValueError) as problem:
            connection.send(("error", str(problem)))
        finally:
            self.say = say_on_stdout

    def status(self) -> list[dict[str, Any]]:
        """Per cluster: name, version, bootstrap_servers, directory, brokers {id: state} and topics {name: (partitions, offline ones)}."""
        return list(self._fleet().each(_status).values())

    def heal(self, clusters: list[str] | None) -> None:
        """Bring every broker back, on these clusters (default all)."""
        self._fleet().each(lambda cluster: cluster.heal() if _chosen(cluster, clusters) else None)

    def kill(self, clusters: list[str] | None) -> None:
        """Kill every broker, on these clusters (default all). Their controllers go on."""
        self._fleet().each(lambda cluster: cluster.kill(*cluster.brokers) if _chosen(cluster, clusters) else None)

    def inflict(
        self,
        clusters: list[str] | None,
        scenarios: list[str],
        partitions: int,
        copies: int,
        suffix: str | None = None,
        fresh: bool = False,
    ) -> dict[str, list[str]]:
        """Inflict these scenarios in one round; returns the new topics by cluster.

        `suffix`: of their names, default is a number from the second round on. `fresh`: all other topics are deleted before.
        """
        self._breaks += 1
        if suffix is None:
            suffix = f"-{self._breaks}" if self._breaks > 1 else ""

        def damage(cluster: KafkaCluster) -> list[str]:
            if fresh:
                _forget(cluster)
            plan = Damage(cluster)
            cases = [plan.add(name, partitions, topic=f"{name}{suffix}", copies=copies) for name in scenarios]
            plan.inflict()
            return [topic for case in cases for topic in case.topics]

        results = self._fleet().each(lambda cluster: damage(cluster) if _chosen(cluster, clusters) else None)
        return {name: topics for name, topics in results.items() if topics is not None}

    def _fleet(self) -> Fleet:
        if self.fleet is None:
            raise RigError("the fleet is not ready")
        return self.fleet


def _chosen(cluster: KafkaCluster, names: list[str] | None) -> bool:
    return names is None or cluster.name in names


def _forget(cluster: KafkaCluster) -> None:
    """Bring every broker back and delete all topics."""
    cluster.heal()
    topics = {state.topic for state in cluster.describe()}
    if topics:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})
        for future in admin.delete_topics(list(topics), operation_timeout=FORGET_SECONDS).values():
            future.result()
        cluster.wait_until(lambda: ", ".join(topics & {state.topic for state in cluster.describe()}), "not deleted", FORGET_SECONDS)
        cluster.writer.close()  # a producer remembers which topics were deleted


def _status(cluster: KafkaCluster) -> dict[str, Any]:
    states = cluster.describe() if cluster.answering() else []
    partitions = Counter(state.topic for state in states)
    offline = Counter(state.topic for state in states if state.leader < 0)
    return {
        "name": cluster.name,
        "version": cluster.settings.version,
        "bootstrap_servers": cluster.bootstrap_servers,
        "directory": str(cluster.directory),
        "brokers": cluster.broker_states(),
        "topics": {topic: (count, offline[topic]) for topic, count in sorted(partitions.items())},
    }


def run(
    name: str, clusters: int, owner_pid: int | None, inventory_file: str | None, settings: dict[str, Any], secured: str | None = None
) -> None:
    """Own a fleet until the end. `secured`: a directory for what clients of a secured listener need (see `Gate`)."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: ended.set())
    owner = psutil.Process(owner_pid) if owner_pid is not None else None
    daemon = Daemon()
    cluster_names = default_names(clusters)
    gate = Gate(Path(secured)) if secured else None
    with Fleet(cluster_names, daemon.progress, **settings, **(gate.settings() if gate else {})) as fleet:
        key = secrets.token_bytes(32)
        listener = Listener(family="AF_UNIX", authkey=key)
        threading.Thread(target=daemon.serve, args=(fleet, listener), daemon=True).start()
        content = fleet.inventory()
        if inventory_file:
            write_inventory(Path(inventory_file), content)
        if gate:
            gate.write_inventory(fleet)
        _write_state(name, {"address": listener.address, "key": key.hex(), "inventory": content})
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a process that waits for us sees the end of our output
        try:
            while not ended.wait(OWNER_CHECK_SECONDS) and (owner is None or _lives(owner)):
                pass
        finally:
            state_file(name).unlink(missing_ok=True)
            listener.close()


def _write_state(name: str, content: dict[str, Any]) -> None:
    me = psutil.Process()
    beside = state_file(name).with_suffix(".new")
    beside.touch(mode=0o600)
    beside.write_text(json.dumps({"pid": me.pid, "create_time": me.create_time(), **content}))
    beside.rename(state_file(name))


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


if __name__ == "__main__":
    try:
        run(**json.loads(sys.argv[1]))
    except (RigError, psutil.NoSuchProcess) as problem:
        sys.exit(f"rig: {problem}")
