# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SCRAM (RFC 5802) with bounds for the iterations that brokers request. Importing this file makes kafka-python use it.

All connections of a client share one thread, so while it hashes a password it reads from no other broker.
"""

from __future__ import annotations

import hashlib
import re
import time
from functools import lru_cache

try:
    from kafka.net.sasl import register_sasl_mechanism
    from kafka.net.sasl.scram import SaslMechanismScram, ScramClient
except ImportError:  # optional_imports.py says why
    SaslMechanismScram = ScramClient = object

# RFC 7677, section 4. With fewer, a process that pretends to be a broker finds the password from the proof sooner.
LEAST_ITERATIONS = 4096
# Four times what Kafka's own tools set (KIP-554: 4,096 to 16,384): the tools of clusters with ZooKeeper had no upper limit. 0.04 s.
MOST_ITERATIONS = 65_536
# Iterations that all brokers together may request with different salts at once, and again each minute: 1.5 s. The brokers of a cluster have one
# salt per user, and one process watches a whole fleet.
MOST_AT_ONCE, MINUTE = 2_000_000, 60.0
# The first message of a broker: a nonce and a salt of some 20 to 40 characters each.
CHALLENGE_BYTES = 4096


class ChallengeError(ValueError):
    """A broker requests too many iterations, or so few that the password is easy to find. The text names the remedy."""


class IterationBudget:
    """Counts iterations: at most `most` at once, and the same number again in each minute."""

    def __init__(self, most: int = MOST_AT_ONCE) -> None:
        self._most = most
        self._spent, self._at = 0.0, 0.0

    def take(self, iterations: int, now: float) -> None:
        """Count iterations before they are done. `now`: seconds of a monotonic clock. ChallengeError if they are too many."""
        self._spent = max(0.0, self._spent - (now - self._at) * self._most / MINUTE)
        self._at = now
        if self._spent + iterations > self._most:
            raise ChallengeError(
                f"it requests {iterations} iterations of SCRAM, after {self._spent:.0f} with other salts, and the limit is {self._most} in a minute; "
                "check the addresses that the cluster advertises"
            )
        self._spent += iterations


_budget = IterationBudget()


@lru_cache(maxsize=1024)
def salt_password(hash_name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
    """Return the salted password of RFC 5802. ChallengeError if the iterations exceed the budget."""
    _budget.take(iterations, time.monotonic())
    return hashlib.pbkdf2_hmac(hash_name, password, salt, iterations)


class BoundedScramClient(ScramClient):  # type: ignore[misc]
    """kafka-python's SCRAM client with a cache: the original hashes the password again for each connection."""

    def create_salted_password(self, salt: bytes, iterations: int) -> None:
        """Hash the password with the broker's number of iterations, once for all connections."""
        self.salted_password = salt_password(self.hashname, self.password, salt, iterations)


class BoundedScram(SaslMechanismScram):  # type: ignore[misc]
    """kafka-python's SCRAM mechanism with bounds: the original has no lower bound."""

    _challenged = False

    def __init__(self, **options: str) -> None:
        super().__init__(**options)
        self._scram_client = BoundedScramClient(options["sasl_plain_username"], options["sasl_plain_password"], options["sasl_mechanism"])

    def receive(self, auth_bytes: bytes) -> bool:
        """Read a message of the broker and return whether it was the last one. ChallengeError for one that must not be answered."""
        if not self._challenged:
            self._challenged = True
            self._check(auth_bytes)
        return bool(super().receive(auth_bytes))

    def _check(self, challenge: bytes) -> None:
        if len(challenge) > CHALLENGE_BYTES:
            raise ChallengeError(f"it sends a challenge of {len(challenge)} bytes")
        counts = [count.decode(errors="replace") for count in re.findall(rb"(?:^|,)i=([^,]*)", challenge)]
        if len(counts) == 1 and re.fullmatch("[0-9]{1,7}", counts[0]) and LEAST_ITERATIONS <= int(counts[0]) <= MOST_ITERATIONS:
            return
        raise ChallengeError(
            f"it requests {' and '.join(counts)[:20] or 'no'} iterations of SCRAM, not {LEAST_ITERATIONS} to {MOST_ITERATIONS}; set the "
            f"user's password again: kafka-configs.sh --alter --add-config '{self.mechanism}=[iterations={LEAST_ITERATIONS},password=...]'"
        )


if SaslMechanismScram is not object:
    for _mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        register_sasl_mechanism(_mechanism, BoundedScram, overwrite=True)
