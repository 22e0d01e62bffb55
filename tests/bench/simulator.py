"""A fleet that was never there: sealed landing files of many clusters with realistic mixtures of damage, from a seed.

The same seed gives the same bytes. Rows are written as text, because ten million partitions as objects would take an hour.
"""

import hashlib
import json
import random
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, combinations
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import chunks

# What becomes of an offline partition, and how many of 1,000 this happens to. Clusters differ: each draws its own weights around these.
MIXTURE = {
    "same": 420,
    "prefix": 380,
    "forked": 60,
    "silent": 20,
    "coming_back": 30,
    "no_survivor": 40,
    "below_high_watermark": 10,
    "online": 40,
}
TOPICS = ("orders", "payments", "clicks", "shipments", "invoices", "sessions", "audit", "inventory")
COLLECTED_AT = "2026-05-20T03:00:00Z"
LINES_AT_ONCE = 4096
# Two brokers are lost, one is coming back.
LOST, RETURNING = [1, 2], 3
FIRST_DAY = datetime(2026, 1, 31, 3, tzinfo=UTC)


@dataclass(frozen=True)
class Fleet:
    """How much is simulated. Every cluster has `brokers` brokers: two are lost, one is coming back."""

    clusters: int
    partitions: int
    replicas: int = 3
    brokers: int = 12
    seed: int = 1

    @property
    def names(self) -> list[str]:
        """The clusters' names, in order."""
        return [f"cluster-{number:04d}" for number in range(self.clusters)]


def write_fleet(fleet: Fleet, workdir: Path, run_id: str, processes: int = 2) -> int:
    """Write `<workdir>/landing/<run_id>/<cluster>.jsonl` for every cluster; return the number of bytes."""
    folder = workdir / "landing" / run_id
    for directory in (workdir, folder.parent, folder):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ProcessPoolExecutor(processes) as pool:
        return sum(pool.map(write_cluster, [fleet] * fleet.clusters, range(fleet.clusters), [folder] * fleet.clusters, chunksize=4))


def write_cluster(fleet: Fleet, number: int, folder: Path) -> int:
    """Write one cluster's landing file; return its size in bytes."""
    chance = random.Random(f"{fleet.seed}/{number}")
    header = {
        "kind": "header", "schema": landing_format.SCHEMA, "cluster": fleet.names[number], "cluster_id": f"id-{fleet.seed}-{number}", "run_id": folder.name,
        "collected_at": COLLECTED_AT, "backend": "compat", "options": {"duration": 30.0, "named": False},
        "eligible_leader_replicas_version": 0, "unreachable_brokers": [], "brokers": _brokers(fleet, chance),
    }  # fmt: skip
    return _write(folder / f"{fleet.names[number]}.jsonl", header, _lines(fleet, chance))


def write_history(fleet: Fleet, workdir: Path, days: int, processes: int = 2) -> int:
    """Write `<workdir>/healthy/<cluster>/<run_id>.jsonl`, a healthy snapshot for every cluster and day; return the number of bytes."""
    with ProcessPoolExecutor(processes) as pool:
        return sum(
            pool.map(write_healthy, [fleet] * fleet.clusters, range(fleet.clusters), [workdir] * fleet.clusters, [days] * fleet.clusters)
        )


def write_healthy(fleet: Fleet, number: int, workdir: Path, days: int) -> int:
    """Write one cluster's healthy snapshots, a day apart: logs grow, and now and then a replica falls out of the ISR."""
    folder = workdir / "healthy" / fleet.names[number]
    for directory in (workdir, folder.parent, folder):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    size = 0
    for day in range(days):
        taken = FIRST_DAY + timedelta(days=day)
        header = {
            "kind": "header", "schema": landing_format.SCHEMA, "cluster": fleet.names[number], "cluster_id": f"id-{fleet.seed}-{number}",
            "run_id": taken.strftime("%Y-%m-%dT%H-%M-%SZ"), "collected_at": taken.strftime("%Y-%m-%dT%H:%M:%SZ"), "backend": "compat",
        }  # fmt: skip
        size += _write(folder / f"{header['run_id']}.jsonl", header, _watermarks(fleet, random.Random(f"{fleet.seed}/{number}/{day}"), day))
    return size


def _watermarks(fleet: Fleet, chance: random.Random, day: int) -> Iterator[str]:
    brokers = list(range(1, fleet.brokers + 1))
    for broker in brokers:
        yield f'{{"kind":"broker","broker_id":{broker},"broker_state":"unfenced","silent_seconds":0.1,"rack":"rack-{broker % 3}"}}'
    for place in range(fleet.partitions):
        where = _where(place)
        replicas = [brokers[(place + step) % len(brokers)] for step in range(fleet.replicas)]
        # One of 100 has lost followers; one of 10,000 has no leader.
        fate = chance.random()
        isr = replicas if fate > 0.01 else replicas[: 1 + int(fate * 150)]
        leader = isr[0] if fate > 0.0001 else -1
        end = (place % 977 + 1) * (1000 + 50 * day)
        watermark = end - int(chance.random() * 5)
        ends = ",".join(f"[{broker},{end if broker in isr else end - int(chance.random() * 9000)}]" for broker in replicas)
        yield (
            f'{{"kind":"watermark",{where},"topic_id":"{hash_id(where)}","leader":{leader},"leader_epoch":{day // 10},"replicas":{replicas},'
            f'"isr":{isr},"eligible_leader_replicas":[],"last_known_elr":[],"min_insync_replicas":2,"cleanup_policy":"delete",'
            f'"log_start_offset":0,"log_end_offset":{end if leader >= 0 else "null"},"high_watermark":{watermark if leader >= 0 else "null"},'
            f'"error":null,"replica_ends":[{ends if leader >= 0 else ""}]}}'
        )


def _write(path: Path, header: Mapping[str, Any], lines: Iterable[str]) -> int:
    """Write a sealed file; return its size."""
    digest, count = hashlib.sha256(), 0
    with path.open("wb") as stream:
        for block in chunks(chain([json.dumps(header)], lines), LINES_AT_ONCE):
            content = ("\n".join(block) + "\n").encode()
            digest.update(content)
            stream.write(content)
            count += len(block)
        stream.write((json.dumps({"kind": "seal", "rows": count, "sha256": digest.hexdigest()}) + "\n").encode())
        return stream.tell()


def _where(place: int) -> str:
    """Topic and partition number of the partition at `place` of a cluster, as fields of a row. A topic has 64 partitions."""
    return f'"topic":"{TOPICS[place % len(TOPICS)]}-{place // 512}","partition":{(place // len(TOPICS)) % 64}'


def _brokers(fleet: Fleet, chance: random.Random) -> list[dict[str, Any]]:
    states = {1: "fenced", 2: "fenced", RETURNING: "coming_back"}
    return [
        {
            "broker_id": broker, "broker_state": states.get(broker, "unfenced"), "rack": f"rack-{broker % 3}",
            "silent_seconds": round(chance.uniform(60, 9000), 1) if broker in LOST else None,
        }
        for broker in range(1, fleet.brokers + 1)
    ]  # fmt: skip


def _lines(fleet: Fleet, chance: random.Random) -> Iterator[str]:
    alive = list(range(RETURNING + 1, fleet.brokers + 1))
    weights = [weight * chance.uniform(0.5, 1.5) for weight in MIXTURE.values()]
    kinds = chance.choices(list(MIXTURE), weights, k=fleet.partitions)
    for place, kind in enumerate(kinds):
        yield _partition(_where(place), kind, fleet, alive, chance)


def _partition(where: str, kind: str, fleet: Fleet, alive: list[int], chance: random.Random) -> str:
    """One partition's document."""
    dead = [LOST[int(chance.random() * 2)]] if kind != "coming_back" else [RETURNING]
    if kind == "no_survivor":
        dead, others = LOST[: fleet.replicas], []
    else:
        start = int(chance.random() * len(alive))
        others = [alive[(start + step) % len(alive)] for step in range(fleet.replicas - 1)]
    replicas = [*dead, *others]
    chance.shuffle(replicas)
    epoch, end = int(chance.random() * 40), int(chance.paretovariate(1.2) * 1000)
    online = kind == "online"
    leader, isr = (others[0], others) if online else (-1, dead[:1])
    state = (
        f'{{{where},"topic_id":"{hash_id(where)}","leader":{leader},"leader_epoch":{epoch + 1},"replicas":{replicas},"isr":{isr},'
        f'"eligible_leader_replicas":[],"last_known_elr":[],"offline_replicas":{dead},"named":false,"reassigning":false,'
        f'"min_insync_replicas":{min(2, len(replicas))},"unclean_leader_election_enable":false,"cleanup_policy":null'
    )
    rest = '"proofs":[],"history":null,"healthy":null}'
    if online:
        return f'{state},"logs":[],"pairs":[],{rest}'
    logs: dict[int, tuple[int, int]] = {}
    for rank, broker in enumerate(others):
        behind = rank * int(chance.random() * 200) if kind in ("prefix", "below_high_watermark") else 0
        logs[broker] = (max(end - behind, 1), epoch - (1 if kind == "forked" and rank else 0))
    fork = int(min((log_end for log_end, _ in logs.values()), default=0) * chance.random())
    silent = others[-1] if kind == "silent" else -1
    reported = []
    for broker in replicas:
        if broker in dead or broker == silent:
            presence = "unfenced" if broker == silent else "coming_back" if broker == RETURNING else "fenced"
            error = '"NO_ANSWER"' if broker == silent else "null"
            reported.append(
                f'{{"broker_id":{broker},"error":{error},"log_start_offset":null,"log_end_offset":null,"high_watermark":null,'
                f'"partition_leader_epoch":null,"last_written_epoch":null,"last_batch_base_offset":null,"last_batch_last_offset":null,'
                f'"last_batch_crc":null,"last_batch_max_timestamp":null,"last_batch_transactional":null,"broker_epoch":null,"probe_error":null,'
                f'"broker_state":"{presence}"}}'
            )
        else:
            log_end, written = logs[broker]
            watermark = max(0, (fork if kind == "forked" else log_end) - int(chance.random() * 50))
            reported.append(
                f'{{"broker_id":{broker},"error":null,"log_start_offset":0,"log_end_offset":{log_end},"high_watermark":{watermark},'
                f'"partition_leader_epoch":{epoch},"last_written_epoch":{written},"last_batch_base_offset":{log_end - 1},'
                f'"last_batch_last_offset":{log_end - 1},"last_batch_crc":{int(chance.random() * 4e9)},"last_batch_max_timestamp":1769828400000,'
                f'"last_batch_transactional":false,"broker_epoch":null,"probe_error":null,"broker_state":"unfenced"}}'
            )
    answered = sorted(broker for broker in logs if broker != silent)
    pairs = [
        f'{{"broker_a":{one},"broker_b":{other},{_relation(kind, logs, one, other, fork)}}}' for one, other in combinations(answered, 2)
    ]
    return f'{state},"logs":[{",".join(reported)}],"pairs":[{",".join(pairs)}],{rest}'


def _relation(kind: str, logs: dict[int, tuple[int, int]], one: int, other: int, fork: int) -> str:
    (end_a, epoch_a), (end_b, epoch_b) = logs[one], logs[other]
    shorter = one if end_a <= end_b else other
    if (kind == "forked" and epoch_a != epoch_b) or (kind == "below_high_watermark" and end_a != end_b):
        return f'"relation":"forked","shorter":null,"common_offset":{fork},"reason":null'
    if end_a == end_b:
        return f'"relation":"same","shorter":null,"common_offset":{end_a},"reason":null'
    return f'"relation":"prefix","shorter":{shorter},"common_offset":{min(end_a, end_b)},"reason":null'


def hash_id(where: str) -> str:
    """A topic id for the topic named in `where`, 22 characters as Kafka's have."""
    return hashlib.blake2b(where.rpartition(",")[0].encode(), digest_size=11).hexdigest()
