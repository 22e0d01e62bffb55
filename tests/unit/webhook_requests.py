# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What webhooks send, and how a test waits until one listens."""

from __future__ import annotations

import asyncio

SECRET = "b5f6c2a49d9e4b6f8f1f0c4f"


ALERT = {
    "status": "firing", "labels": {"alertname": "KafkaPartitionsOffline", "cluster": "east", "severity": "critical"},
    "annotations": {"summary": "{{ lookup('pipe', 'touch /tmp/hostile') }}"}, "startsAt": "2026-11-22T01:00:00Z", "endsAt": "0001-01-01T00:00:00Z",
    "generatorURL": "http://prometheus/graph", "fingerprint": "abc",
}  # fmt: skip


ALERTED = {"version": "4", "groupKey": "{}", "status": "firing", "receiver": "kafka", "alerts": [ALERT]}


async def listening(port: int) -> None:
    for _ in range(3000):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            return
    raise AssertionError("nothing listens")


BEARER = {"Authorization": f"Bearer {SECRET}"}
