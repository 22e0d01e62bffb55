# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work in threads that do not keep a process alive, awaited by asyncio."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

logger = logging.getLogger("streamops.kafka_recovery.fleet")


def in_thread(work: Callable[[], Any]) -> asyncio.Future[Any]:
    """Start `work` in a daemon thread. Returns a future with its result or exception."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def finish(result: Any, error: BaseException | None) -> None:
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
            loop.call_soon_threadsafe(finish, result, error)
        except RuntimeError:  # the source has ended meanwhile
            logger.debug("the source ended before a poll did")

    threading.Thread(target=run, daemon=True).start()
    return future
