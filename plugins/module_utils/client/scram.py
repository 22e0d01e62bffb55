# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SCRAM (RFC 5802) with bounds for the iterations that a broker asks for. To import it has kafka-python use it."""

from __future__ import annotations

import re

try:
    from kafka.net.sasl import register_sasl_mechanism
    from kafka.net.sasl.scram import SaslMechanismScram
except ImportError:  # libraries.py says why
    SaslMechanismScram = object

# RFC 7677, section 4. With fewer, a process that pretends to be a broker finds the password from the proof sooner.
LEAST_ITERATIONS = 4096
MOST_ITERATIONS = 1_000_000


class BoundedScram(SaslMechanismScram):  # type: ignore[misc]
    """The SCRAM of kafka-python, which has no lower bound."""

    _challenged = False

    def receive(self, auth_bytes: bytes) -> bool:
        """Take a message of the broker. ValueError for one that must not be answered. Return whether it was the last one."""
        if not self._challenged:
            self._challenged = True
            asked = re.findall(rb"(?:^|,)i=([^,]*)", auth_bytes)
            if len(asked) != 1 or not re.fullmatch(rb"[0-9]{1,7}", asked[0]) or not LEAST_ITERATIONS <= int(asked[0]) <= MOST_ITERATIONS:
                raise ValueError(f"iterations of SCRAM must be {LEAST_ITERATIONS} to {MOST_ITERATIONS}")
        return bool(super().receive(auth_bytes))


if SaslMechanismScram is not object:
    for _mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        register_sasl_mechanism(_mechanism, BoundedScram, overwrite=True)
