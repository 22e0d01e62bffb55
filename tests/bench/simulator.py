"""A fleet that was never there: sealed landing files of many clusters with realistic mixtures of damage, from a seed.

The same seed gives the same bytes. Rows are written as text, because ten million partitions as objects would take an hour.
"""

import hashlib
import json
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import snapshot

# What becomes of an offline partition, and how many of 1,000 it befalls. Clusters differ: each draws its own weights around these.
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
COLLECTED_AT = "2026-01-31T03:00:00Z"
SEALED_LINES = 4096


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
        "kind": "header", "schema": snapshot.SCHEMA, "cluster": fleet.names[number], "cluster_id": f"id-{fleet.seed}-{number}", "run_id": folder.name,
        "collected_at": COLLECTED_AT, "backend": "compat", "options": {"duration": 30.0, "named": False},
        "eligible_leader_replicas_version": 0, "unreachable_brokers": [],
    }  # fmt: skip
    path = folder / f"{fleet.names[number]}.jsonl"
    digest, count, buffer = hashlib.sha256(), 1, [json.dumps(header)]
    with path.open("wb") as stream:
        for line in _lines(fleet, chance):
            buffer.append(line)
            count += 1
            if len(buffer) >= SEALED_LINES:
                _flush(buffer, digest, stream)
        _flush(buffer, digest, stream)
        stream.write((json.dumps({"kind": "seal", "rows": count, "sha256": digest.hexdigest()}) + "\n").encode())
        return stream.tell()


def _flush(buffer: list[str], digest, stream) -> None:  # type: ignore[no-untyped-def]
    block = ("\n".join(buffer) + "\n").encode() if buffer else b""
    digest.update(block)
    stream.write(block)
    buffer.clear()


def _lines(fleet: Fleet, chance: random.Random) -> Iterator[str]:
    lost, returning, alive = [1, 2], 3, list(range(4, fleet.brokers + 1))
    for broker in range(1, fleet.brokers + 1):
        state = "fenced" if broker in lost else "coming_back" if broker == returning else "unfenced"
        silent = f"{chance.uniform(60, 9000):.1f}" if broker in lost else "null"
        yield f'{{"kind":"broker","broker_id":{broker},"broker_state":"{state}","silent_seconds":{silent},"rack":"rack-{broker % 3}"}}'
    weights = [weight * chance.uniform(0.5, 1.5) for weight in MIXTURE.values()]
    kinds = chance.choices(list(MIXTURE), weights, k=fleet.partitions)
    for place, kind in enumerate(kinds):
        topic = f"{TOPICS[place % len(TOPICS)]}-{place // 512}"
        partition = (place // len(TOPICS)) % 64
        yield from _partition(f'"topic":"{topic}","partition":{partition}', kind, fleet, lost, returning, alive, chance)


def _partition(
    where: str, kind: str, fleet: Fleet, lost: list[int], returning: int, alive: list[int], chance: random.Random
) -> Iterator[str]:
    """One partition's rows: its state, its replicas, its survivors' pairs."""
    dead = [lost[int(chance.random() * 2)]] if kind != "coming_back" else [returning]
    if kind == "no_survivor":
        dead, others = lost[: fleet.replicas], []
    else:
        start = int(chance.random() * len(alive))
        others = [alive[(start + step) % len(alive)] for step in range(fleet.replicas - 1)]
    replicas = [*dead, *others]
    chance.shuffle(replicas)
    epoch, end = int(chance.random() * 40), int(chance.paretovariate(1.2) * 1000)
    online = kind == "online"
    leader, isr = (others[0], others) if online else (-1, dead[:1])
    yield (
        f'{{"kind":"partition",{where},"topic_id":"{hash_id(where)}","leader":{leader},"leader_epoch":{epoch + 1},"replicas":{replicas},"isr":{isr},'
        f'"eligible_leader_replicas":[],"last_known_elr":[],"offline_replicas":{dead},"named":false,"reassigning":false,'
        f'"min_insync_replicas":{min(2, len(replicas))},"unclean_leader_election_enable":false}}'
    )
    if online:
        return
    logs: dict[int, tuple[int, int]] = {}
    for rank, broker in enumerate(others):
        behind = rank * int(chance.random() * 200) if kind in ("prefix", "below_high_watermark") else 0
        logs[broker] = (max(end - behind, 1), epoch - (1 if kind == "forked" and rank else 0))
    silent = others[-1] if kind == "silent" else -1
    for broker in replicas:
        if broker in dead:
            state = "coming_back" if broker == returning else "fenced"
            yield (
                f'{{"kind":"replica",{where},"broker_id":{broker},"error":null,"log_start_offset":null,"log_end_offset":null,"high_watermark":null,'
                f'"partition_leader_epoch":null,"last_written_epoch":null,"broker_epoch":null,"probe_error":null,"broker_state":"{state}"}}'
            )
        elif broker == silent:
            yield (
                f'{{"kind":"replica",{where},"broker_id":{broker},"error":"NO_ANSWER","log_start_offset":null,"log_end_offset":null,"high_watermark":null,'
                f'"partition_leader_epoch":null,"last_written_epoch":null,"broker_epoch":null,"probe_error":null,"broker_state":"unfenced"}}'
            )
        else:
            log_end, written = logs[broker]
            watermark = max(0, log_end - int(chance.random() * 50))
            yield (
                f'{{"kind":"replica",{where},"broker_id":{broker},"error":null,"log_start_offset":0,"log_end_offset":{log_end},'
                f'"high_watermark":{watermark},"partition_leader_epoch":{epoch},"last_written_epoch":{written},"last_batch_base_offset":{log_end - 1},'
                f'"last_batch_last_offset":{log_end - 1},"last_batch_crc":{int(chance.random() * 4e9)},"last_batch_max_timestamp":1769828400000,'
                f'"broker_epoch":null,"probe_error":null,"broker_state":"unfenced"}}'
            )
    answered = sorted(broker for broker in logs if broker != silent)
    for one, other in combinations(answered, 2):
        yield f'{{"kind":"pair",{where},"broker_a":{one},"broker_b":{other},{_relation(kind, logs, one, other, chance)}}}'


def _relation(kind: str, logs: dict[int, tuple[int, int]], one: int, other: int, chance: random.Random) -> str:
    (end_a, epoch_a), (end_b, epoch_b) = logs[one], logs[other]
    shorter = one if end_a <= end_b else other
    if (kind == "forked" and epoch_a != epoch_b) or (kind == "below_high_watermark" and end_a != end_b):
        return f'"relation":"forked","shorter":null,"common_offset":{int(min(end_a, end_b) * chance.random())},"reason":null'
    if end_a == end_b:
        return f'"relation":"same","shorter":null,"common_offset":{end_a},"reason":null'
    return f'"relation":"prefix","shorter":{shorter},"common_offset":{min(end_a, end_b)},"reason":null'


def hash_id(where: str) -> str:
    """A topic id for the topic named in `where`, 22 characters as Kafka's have."""
    return hashlib.blake2b(where.rpartition(",")[0].encode(), digest_size=11).hexdigest()
