"""TCP proxies in front of brokers: connections that are cut, slow, or that go nowhere, with the brokers themselves in good health.

A proxy listens exactly as long as its broker does: a dead broker's address must refuse connections, also behind a proxy.
"""

import asyncio
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

HOST = "127.0.0.1"
KNOCK_SECONDS = 0.1


class Mode(Enum):
    """What happens to the bytes, in both directions."""

    PASS = "pass"
    CUT = "cut"  # connections are closed, those that stand and those that come
    DELAY = "delay"  # each piece comes `delay` seconds late
    BLACK_HOLE = (
        "black hole"  # connections are accepted, nothing comes through; it does when the mode changes back, like retransmitted segments
    )


End = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Way:
    """One proxy: its own port, the broker's port, what it does now."""

    port: int
    target: int
    mode: Mode = Mode.PASS
    delay: float = 0.0
    host: str = HOST  # where the proxy listens


class Proxies:
    """Proxies by broker id, on an event loop in a thread of its own. `set` may be called from any thread."""

    def __init__(self, ports: dict[int, tuple[int, int]], hosts: Mapping[int, str] | None = None) -> None:
        """`ports`: the proxy's port and the broker's own, by broker id. `hosts`: where it listens, if not on HOST."""
        self._ways = {broker_id: Way(*pair, host=(hosts or {}).get(broker_id, HOST)) for broker_id, pair in ports.items()}
        self._loop = asyncio.new_event_loop()
        self._changed = asyncio.Condition()
        self._open: dict[int, set[asyncio.StreamWriter]] = {broker_id: set() for broker_id in ports}
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._tasks = [asyncio.run_coroutine_threadsafe(self._follow(broker_id), self._loop) for broker_id in ports]

    def set(self, mode: Mode, broker_ids: Iterable[int] | None = None, delay: float = 0.0) -> None:
        """Let the proxies of these brokers (None: all) work in this mode from now on. `delay` in seconds."""
        chosen = list(self._ways if broker_ids is None else broker_ids)
        asyncio.run_coroutine_threadsafe(self._set(mode, chosen, delay), self._loop).result()

    def close(self) -> None:
        """Close all connections and end."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _set(self, mode: Mode, broker_ids: list[int], delay: float) -> None:
        for broker_id in broker_ids:
            self._ways[broker_id].mode, self._ways[broker_id].delay = mode, delay
            if mode is Mode.CUT:
                self._hang_up(broker_id)
        async with self._changed:
            self._changed.notify_all()

    async def _end(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _follow(self, broker_id: int) -> None:
        """Listen while the broker does. One connection to it stays open: when that ends, the broker has."""
        way = self._ways[broker_id]
        while True:
            try:
                alive, sentinel = await asyncio.open_connection(HOST, way.target)
            except OSError:
                await asyncio.sleep(KNOCK_SECONDS)
                continue
            server = await asyncio.start_server(lambda reader, writer: self._serve(broker_id, reader, writer), way.host, way.port)
            try:
                with suppress(OSError):
                    await alive.read()
            finally:
                server.close()
                self._hang_up(broker_id)
                sentinel.close()

    def _hang_up(self, broker_id: int) -> None:
        for writer in self._open[broker_id]:
            writer.transport.abort()

    async def _serve(self, broker_id: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        way, ends = self._ways[broker_id], self._open[broker_id]
        if way.mode is Mode.CUT:
            writer.transport.abort()
            return
        try:
            from_broker, to_broker = await asyncio.open_connection(HOST, way.target)
        except OSError:
            writer.transport.abort()
            return
        pair = {writer, to_broker}
        ends |= pair
        try:
            await self._exchange(broker_id, way, (reader, writer), (from_broker, to_broker))
        finally:
            ends -= pair
            for end in pair:
                end.transport.abort()

    async def _exchange(self, _broker_id: int, way: Way, client: End, broker: End) -> None:
        """Carry bytes both ways until both ends are done."""
        await asyncio.gather(self._pump(way, client[0], broker[1]), self._pump(way, broker[0], client[1]))

    async def _held_up(self, way: Way) -> None:
        """As long as the mode wants it."""
        await asyncio.sleep(way.delay)
        if way.mode is Mode.BLACK_HOLE:
            async with self._changed:
                await self._changed.wait_for(lambda: way.mode is not Mode.BLACK_HOLE)

    async def _pump(self, way: Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                await self._held_up(way)
                writer.write(data)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
