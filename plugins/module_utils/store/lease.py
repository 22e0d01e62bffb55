# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks in an object store: objects that the holder changes again and again.

Clocks of different machines are never compared. Who wants a lease watches its object, and takes it if the object has not changed for a whole time to live
of the watcher's own monotonic clock. ETags repeat with the content, so the body has the writer's id and a counter.
"""

from __future__ import annotations

import json
import math
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client, ConflictError

SUFFIX = ".lease"
SECONDS = 30.0
SETTING = "KAFKA_RECOVERY_LEASE_SECONDS"
SHORTEST, LONGEST = 1.0, 600.0
LOOKS, RENEWALS = 20, 3  # of a lease, in one time to live
MOST_SILENCES = 10  # times to live after which a store is too slow to show whether a run lives
LEAST_REQUEST_SECONDS = 1.0
MOST_BYTES = 1 << 16
State: TypeAlias = "tuple[str, int]"  # of a lease: its writer, and how often that has written
_SHAPE = {
    "writer": strict_json.Name(), "count": int, "seconds": float, "released": bool, "doubt": float,
    "host": str, "pid": int, "begun": str,
}  # fmt: skip


def seconds_to_live() -> float:
    """Return the time to live of leases, from the environment. Raises RecoveryError if it is not valid."""
    given = os.environ.get(SETTING)
    if not given:
        return SECONDS
    with suppress(ValueError):
        if SHORTEST <= (seconds := float(given)) <= LONGEST:
            return seconds
    raise RecoveryError(f"{SETTING} is {given!r:.40}: it must be a number of seconds from {SHORTEST:g} to {LONGEST:g}")


def _clock() -> float:
    """Return seconds of a clock that counts while the machine is suspended, too, where there is one: meanwhile another run may take the lease."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class StoreLease:
    """The lease of one object `key`. Renewed by a thread from `acquire` to `release`."""

    def __init__(
        self, client: Client, key: str, seconds: float, prove: Callable[[], None] = lambda: None, silent: dict[str, State] | None = None
    ) -> None:
        """`prove`: raises FileError for a store that cannot keep two holders apart. `silent`: states in which this process has found leases abandoned."""
        self._prove = prove
        self._silent = {} if silent is None else silent
        self._client, self._key, self._seconds = client, key + SUFFIX, seconds
        self._renewals = client
        self._writer, self._count = uuid.uuid4().hex, 0
        self._begun = utc_now()
        self._etag = ""
        self._found: dict[str, Any] = {}
        self._guard = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.lost = False
        self._sure_at = self._renewed_at = -math.inf

    def acquire(self, seconds: float) -> bool:
        """Hold the lease, and return True; or return False if another run that lives still holds it after `seconds`.

        To know whether the other run lives takes up to its time to live.
        """
        self._prove()
        # A request that hangs must leave time for another one.
        self._renewals = Client(self._client.url, max(LEAST_REQUEST_SECONDS, self._seconds / RENEWALS / 2))
        begun = changed_at = time.monotonic()
        seen: State | None = None
        while True:
            asked = time.monotonic()
            body = self._look()
            state = None if body is None else (body["writer"], body["count"])
            now = time.monotonic()
            if body is None or body["released"]:
                if self._take():
                    return self._hold(0.0 if body is None else min(float(body["doubt"]), LONGEST))
                if now - begun >= max(seconds, self._seconds):
                    return False  # others take it all the time
                continue
            if state == self._silent.get(self._key):
                seen, changed_at = state, -math.inf  # this process has watched it for long enough
            if state != seen:
                if seen is not None and now - begun >= seconds:
                    return False
                seen, changed_at = state, now
            elif self._was_late(asked):
                self._fail_if_slow(begun + seconds, body)
                changed_at = now
            elif now - changed_at >= self._longest_silence(body):
                if self._take():
                    return self._hold(self._seconds)
                continue
            time.sleep(self._seconds / LOOKS)

    def doubtful_seconds(self) -> float:
        """Return for how long a run that held it before may still act. 0 if every earlier run released it, or must have noticed by now."""
        return max(0.0, self._sure_at - time.monotonic())

    def is_held(self) -> bool:
        """Return whether no other run has taken it. Asks the store if it was not renewed in time. Raises RecoveryError if that does not answer."""
        with self._guard:
            if not self.lost and _clock() - self._renewed_at >= self._seconds:
                self.lost = not self._is_renewed()
        return not self.lost

    def is_free(self) -> bool:
        """Return whether no run has it, or it was released. It is not free for its time to live if its holder was killed."""
        body = self._look()
        return body is None or bool(body["released"])

    def is_alive(self) -> bool:
        """Return whether a run that lives has it. Writes nothing. To know that the holder was killed takes up to its time to live."""
        first = begun = asked = time.monotonic()
        seen = None
        while (body := self._look()) is not None and not body["released"]:
            if self._was_late(asked):
                self._fail_if_slow(first, body)
                begun = time.monotonic()
            state = body["writer"], body["count"]
            if state == self._silent.get(self._key):
                return False
            if state != (seen := seen or state):
                return True
            if time.monotonic() - begun >= self._longest_silence(body):
                self._silent[self._key] = state
                return False
            time.sleep(self._seconds / LOOKS)
            asked = time.monotonic()
        return False

    def _was_late(self, asked: float) -> bool:
        """Return whether the store took so long for a request of the time `asked` that the holder could not renew the lease either, though it lives."""
        return time.monotonic() - asked > self._seconds / RENEWALS

    def _fail_if_slow(self, since: float, body: dict[str, Any]) -> None:
        """Raise FileError if the store is too slow, since then, to show whether the holder lives."""
        if time.monotonic() - since > MOST_SILENCES * self._longest_silence(body):
            raise FileError(
                f"{self._client.url} answers so slowly that it is not known whether the run that has {self._key} lives: run again when it is faster"
            )

    def _longest_silence(self, body: dict[str, Any]) -> float:
        """Return the seconds after which a lease that has not changed is abandoned."""
        return max(self._seconds, min(float(body["seconds"]), LONGEST))

    def _look(self, client: Client | None = None, patience: float | None = None) -> dict[str, Any] | None:
        try:
            content, self._etag = (client or self._client).get(self._key, patience=patience, most=MOST_BYTES)
        except FileNotFoundError:
            self._etag = ""
            return None
        try:
            body = strict_json.parse(content)
            strict_json.check(body, _SHAPE)
        except strict_json.ContentError as error:
            raise FileError(
                f"{self._client.url}/{self._key} is not a lease of this collection ({error}): make sure that no run works there, then remove it"
            ) from error
        self._found = body
        return self._found

    def _take(self) -> bool:
        """Write the lease as it was found, with this writer. Return whether that was in time."""
        try:
            self._etag = (
                self._client.replace(self._key, self._body(), self._etag) if self._etag else self._client.create(self._key, self._body())
            )
        except ConflictError:
            return False
        self._renewed_at = _clock()
        return True

    def _body(self, released: bool = False) -> bytes:
        self._count += 1
        return json.dumps(
            {
                "writer": self._writer, "count": self._count, "seconds": self._seconds, "released": released, "doubt": self.doubtful_seconds(),
                "host": socket.gethostname(), "pid": os.getpid(), "begun": self._begun,
            }
        ).encode()  # fmt: skip

    def _hold(self, doubtful_seconds: float) -> bool:
        self.lost = False
        self._sure_at = time.monotonic() + doubtful_seconds
        self._ended.clear()
        self._thread = threading.Thread(target=self._renew, name=f"lease {self._key}", daemon=True)
        self._thread.start()
        return True

    def _renew(self) -> None:
        while not self._ended.wait(self._seconds / RENEWALS):
            with self._guard:
                if self._ended.is_set() or self.lost:
                    return
                # If the store does not answer, what this run writes to it is refused if another one has the lease by then.
                with suppress(RecoveryError):
                    if not self._is_renewed():
                        self.lost = True
                        return

    def _is_renewed(self) -> bool:
        """Renew the lease, and return False if another run has taken it. Raises RecoveryError if the store does not answer."""
        try:
            self._etag = self._renewals.replace(self._key, self._body(), self._etag, patience=self._seconds / RENEWALS)
        except ConflictError:
            # The renewal before may have arrived, and its answer not. `_look` has its ETag then, for the next one.
            body = self._look(self._renewals, self._seconds / RENEWALS)
            if body is None or body["writer"] != self._writer:
                return False
        self._renewed_at = _clock()
        return True

    def holder(self) -> dict[str, Any]:
        """Return host, process and begin of the run that was found to hold it."""
        return {name: self._found[name] for name in ("host", "pid", "begun") if name in self._found}

    def release(self) -> None:
        """End the renewal, and mark the lease as free. If that fails, it is free after its time to live.

        For how long an earlier run may still act is in the lease, for the next run.
        """
        if self._thread is None:
            return
        self._ended.set()
        with self._guard:
            if not self.lost:
                with suppress(RecoveryError):
                    self._client.replace(self._key, self._body(released=True), self._etag, patience=self._seconds)
        self._thread.join()
        self._thread = None
