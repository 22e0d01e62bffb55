"""Answers of real nodes, recorded once (`python -m wire`, in tests/), and what they answered."""

import gzip
import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rig.gateway_frames import Request

RECORDED = Path(__file__).parent / "answers.jsonl.gz"
HOST = b"127.0.0.1"


@dataclass(frozen=True)
class Exchange:
    """A request (without correlation and client ids) and its answer (without length and correlation id). `node`: broker id, or -1 of a controller."""

    node: int
    api_key: int
    version: int
    asked: bytes
    answer: bytes

    @property
    def kind(self) -> tuple[int, int]:
        """API key and version."""
        return self.api_key, self.version

    @classmethod
    def of(cls, node: int, request: Request, answer: bytes) -> "Exchange":
        """`answer` as it goes over the wire."""
        return cls(node, request.api_key, request.version, request.rest, answer[8:])


def save(exchanges: Mapping[str, Iterable[Exchange]], ports: Mapping[int, int], path: Path = RECORDED) -> None:
    """Write them down by step, with the port of each node as it stands in the answers."""
    rows = [
        [step, one.node, one.api_key, one.version, one.asked.hex(), one.answer.hex()] for step, found in exchanges.items() for one in found
    ]
    lines = [json.dumps(dict(ports)), *map(json.dumps, rows)]
    path.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


def load(path: Path = RECORDED) -> tuple[dict[int, int], dict[str, list[Exchange]]]:
    """The ports of the nodes, and what was recorded, by step and in order."""
    first, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    found: dict[str, list[Exchange]] = {}
    for step, node, api_key, version, asked, answer in map(json.loads, lines):
        found.setdefault(step, []).append(Exchange(node, api_key, version, bytes.fromhex(asked), bytes.fromhex(answer)))
    return {int(node): port for node, port in json.loads(first).items()}, found


def moved(answer: bytes, before: Mapping[int, int], after: Mapping[int, int]) -> bytes:
    """An answer in which nodes are advertised with other ports."""
    for node, port in before.items():
        answer = answer.replace(HOST + struct.pack(">i", port), HOST + struct.pack(">i", after[node]))
    return answer
