"""Runs of steps against endpoints that change one of their answers, or all of one kind."""

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wire.answers import Exchange, load
from wire.course import IMPACT, REPLAY, STEPS, Step
from wire.endpoint import CONTROLLER, Endpoints
from wire.mutations import mutate
from wire.run import Hang, bare_bytes, peak_growth, run, verdict
from wire.synthetic import SYNTHETIC, exchanges, save_offset

REQUEST_TIMEOUT, UNDISTURBED_TIMEOUT = 0.5, 30.0
Kind = tuple[int, int]
PLAYED = (*STEPS, *SYNTHETIC)


@dataclass(frozen=True)
class Finding:
    """What a mutation led to that it must not. `seed` plays it again: `python -m wire --seed SEED`."""

    seed: str
    request: Kind
    mutation: str
    problem: str

    def __str__(self) -> str:
        return f"seed {self.seed!r}, API key {self.request[0]} v{self.request[1]}, {self.mutation}: {self.problem}"


class Fuzz:
    """`tried`: mutations by kind of request, of those that were sent. `megabytes`: the most that a process would take that runs one module.

    All of them run in this process, with the endpoints. What modules leave in it, and the changed answer itself, which the endpoint has too, do not count.
    """

    def __init__(self, endpoints: Endpoints, recorded: dict[str, list[Exchange]], prepared: Path, nodes: list[int]) -> None:
        self._endpoints, self._recorded, self._prepared, self._nodes = endpoints, recorded, prepared, nodes
        self.tried: dict[Kind, int] = {}
        self._before = bare_bytes()
        self.megabytes = 0

    def prepare(self) -> list[str]:
        """Play every step unchanged, files kept for those that read them. Returns what fails."""
        save_offset(self._prepared, self._recorded)
        return [
            f"{step.name}: {problem}"
            for step in PLAYED
            if (problem := _problem(self._play(step, str(self._prepared), request_timeout=UNDISTURBED_TIMEOUT)))
        ]

    @property
    def kinds(self) -> dict[Kind, list[tuple[Step, int]]]:
        """Where answers of each kind stand: steps, and places in them."""
        found: dict[Kind, list[tuple[Step, int]]] = {}
        for step in PLAYED:
            for place, exchange in enumerate(self._recorded[step.name]):
                found.setdefault(exchange.kind, []).append((step, place))
        return found

    def mutations(self, count: int, base: str = "", quick: bool = False) -> Iterator[Finding]:
        """Try so many mutations, spread evenly over kinds of answers. `quick`: only in the step of each kind that asks the least."""
        kinds = [(kind, self._cheapest(rows) if quick else rows) for kind, rows in sorted(self.kinds.items())]
        number = 0
        while sum(self.tried.values()) < count and number < 3 * count:
            step, place = random.Random(f"{base}{number}").choice(kinds[number % len(kinds)][1])
            finding = self.one(f"{base}{number}|{step.name}|{place}")
            number += 1
            if finding:
                yield finding

    def _cheapest(self, places: list[tuple[Step, int]]) -> list[tuple[Step, int]]:
        least = min(len(self._recorded[step.name]) for step, _place in places)
        return [(step, place) for step, place in places if len(self._recorded[step.name]) == least]

    def one(self, seed: str) -> Finding | None:
        """Try the mutation of a seed: its number, the step, and the place of the answer."""
        _number, name, place = seed.split("|")
        step = next(step for step in PLAYED if step.name == name)
        chosen = self._recorded[name][int(place)]
        done: list[str] = []
        sent = [0]

        def change(at: int, exchange: Exchange, frame: bytes) -> bytes:
            if exchange != chosen:
                return frame
            mutation, changed = mutate(seed, exchange, frame)
            done.append(mutation)
            sent.append(len(changed))
            return changed

        with tempfile.TemporaryDirectory() as folder:
            workdir = Path(folder) / "workdir"
            shutil.copytree(self._prepared, workdir) if step.module in (IMPACT, REPLAY) else workdir.mkdir()
            try:
                with peak_growth() as peak:
                    problem = verdict(self._play(step, str(workdir), change))
            except (Hang, Exception) as error:
                problem = f"{type(error).__name__}: {error}"
        self.megabytes = max(self.megabytes, (self._before + peak.bytes - max(sent)) >> 20)
        if done:
            self.tried[chosen.kind] = self.tried.get(chosen.kind, 0) + 1
        return Finding(seed, chosen.kind, done[0] if done else "nothing was changed", problem) if problem else None

    def _play(self, step: Step, workdir: str, change: Any = None, request_timeout: float = REQUEST_TIMEOUT) -> dict[str, Any]:
        self._endpoints.play(self._recorded[step.name], change)
        brokers = self._endpoints.addresses(*self._nodes)
        return run(step, step.options(brokers, self._endpoints.addresses(CONTROLLER), workdir, request_timeout))


def _problem(undisturbed: dict[str, Any]) -> str | None:
    return verdict(undisturbed) or (f"it failed: {undisturbed['msg']}" if undisturbed.get("failed") else None)


@contextmanager
def fuzzing() -> Iterator[Fuzz]:
    """Endpoints with what was recorded. Broker 1 is the one that was lost: there is no endpoint for it."""
    ports, recorded = load()
    recorded |= exchanges(recorded)
    living = {node: port for node, port in ports.items() if any(one.node == node for rows in recorded.values() for one in rows)}
    endpoints = Endpoints(living)
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield Fuzz(endpoints, recorded, Path(folder), sorted(living))
    finally:
        endpoints.close()
