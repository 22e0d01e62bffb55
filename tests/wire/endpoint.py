"""Endpoints: sockets that answer what was recorded, with one answer changed. A mock, for faults that real nodes cannot be made to have."""

import asyncio
import struct
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from rig.gateway_frames import Request, read_frame
from wire.answers import Exchange, moved

# What goes over the wire in place of an answer: given the request, the recorded answer's place, and the answer with length and correlation id.
Change = Callable[[int, Exchange, bytes], bytes]
CONTROLLER = -1
Answer = TypeVar("Answer")


class Endpoints:
    """One socket per node, on an event loop in a thread of its own. `play` says what they answer from now on."""

    def __init__(self, ports: Mapping[int, int]) -> None:
        """`ports`: those that stand in what was recorded, by node."""
        self._before = {node: port for node, port in ports.items() if node != CONTROLLER}
        self._exchanges: Sequence[Exchange] = ()
        self._change: Change | None = None
        self._asked: Counter[tuple[int, int, int, bytes]] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        nodes = sorted({*ports, CONTROLLER})
        self._servers = {node: self._run(self._listen(node)) for node in nodes}
        self.ports: dict[int, int] = {node: server.sockets[0].getsockname()[1] for node, server in self._servers.items()}

    def close(self) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def play(self, exchanges: Sequence[Exchange], change: Change | None = None) -> None:
        """Answer with these; the same question again gets the next answer that it got, and the last one for ever."""
        self._exchanges, self._change = exchanges, change
        self._asked.clear()

    def addresses(self, *nodes: int) -> list[str]:
        return [f"127.0.0.1:{self.ports[node]}" for node in nodes]

    def _run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _listen(self, node: int) -> asyncio.Server:
        return await asyncio.start_server(lambda reader, writer: self._serve(node, reader, writer), "127.0.0.1", 0)

    async def _end(self) -> None:
        for server in self._servers.values():
            server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, node: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while frame := await read_frame(reader):
                answer = self._answer(node, Request.parse(frame))
                writer.write(answer)
                await writer.drain()
                if int.from_bytes(answer[:4], "big", signed=True) != len(answer) - 4:
                    return
        except OSError:
            return
        finally:
            writer.close()

    def _answer(self, node: int, request: Request) -> bytes:
        place = self._place(node, request)
        if place is None:
            return b""
        body = moved(self._exchanges[place].answer, self._before, self.ports)
        frame = struct.pack(">ii", len(body) + 4, request.correlation_id) + body
        return self._change(place, self._exchanges[place], frame) if self._change else frame

    def _place(self, node: int, request: Request) -> int | None:
        """Where the answer stands: to the same question, else to the same kind of question, of this node or of any."""
        alike = [at for at, one in enumerate(self._exchanges) if one.kind == (request.api_key, request.version)]
        for fits in (
            [at for at in alike if self._exchanges[at].node == node and self._exchanges[at].asked == request.rest],
            [at for at in alike if self._exchanges[at].node == node],
            alike,
        ):
            if fits:
                key = (node, request.api_key, request.version, request.rest)
                self._asked[key] += 1
                return fits[min(self._asked[key], len(fits)) - 1]
        return None
