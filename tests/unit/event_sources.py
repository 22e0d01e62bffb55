# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Event sources as ansible-rulebook runs them: from their path, with a queue and arguments."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

COLLECTION = Path(__file__).parents[2] / ".cache/collections/ansible_collections/streamops/kafka_recovery"
SOURCES = COLLECTION / "extensions/eda/plugins/event_source"


def loaded(name: str) -> dict[str, Any]:
    """The names of a source. Not by runpy, as ansible-rulebook does it: that asks ansible-test's importer, where there is one, for a package."""
    spec = importlib.util.spec_from_file_location(f"event_source_{name}", SOURCES / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


@asynccontextmanager
async def running(main: Any, args: dict[str, Any]) -> AsyncIterator[asyncio.Queue[dict[str, Any]]]:
    """A source that runs, and its events. What it ends with is raised here."""
    queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    task = asyncio.create_task(main(queue, args))
    try:
        yield queue
    finally:
        if task.done():
            task.result()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def free_port() -> int:
    """A port of the loopback interface that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
