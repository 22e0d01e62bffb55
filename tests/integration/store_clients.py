# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workdirs on the S3 server of the tests."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import obstore
from obstore.store import S3Store

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.mount import StoreMount, mounted
from rig.object_gate import Gate
from rig.object_store import ObjectStore


@dataclass(frozen=True)
class Bucket:
    """A bucket of its own, and the workdir `url` in it. The environment has the credentials."""

    store: ObjectStore
    name: str

    @property
    def url(self) -> str:
        return f"s3://{self.name}/team/work"

    @property
    def gate(self) -> Gate:
        return self.store.gate

    def mounted(self, lists: bool = True) -> StoreMount:
        """The workdir as one process has it."""
        return mounted(self.url, lists)

    def root(self) -> Path:
        """The folder of `mounted`."""
        return self.mounted().root

    def contents(self) -> dict[str, bytes]:
        """All objects of the workdir, read past the gate."""
        client = S3Store(self.name, config=self._config(), client_options={"allow_http": True})
        rows = [row for page in obstore.list(client, "team/work") for row in page]
        found = {}
        for row in rows:
            with suppress(FileNotFoundError):  # a lease that was released since it was listed
                found[row["path"].removeprefix("team/work/")] = bytes(obstore.get(client, row["path"]).bytes())
        return found

    def _config(self) -> Any:
        config = {name.lower(): value for name, value in self.store.environment().items() if name != "AWS_ALLOW_HTTP"}
        return {**config, "aws_endpoint_url": self.store.server_endpoint}
