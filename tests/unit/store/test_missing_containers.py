# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A container or bucket that does not exist, in the words of each store."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("obstore")

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client
from rig.web import QuietHandler, serving


@pytest.mark.parametrize(("url", "code"), [("az://box/fleet", "ContainerNotFound"), ("gs://box/fleet", "NoSuchBucket")])
def test_it_is_named_whatever_is_asked_first(url: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Handler(QuietHandler):
        def do_GET(self) -> None:
            content = f"<Error><Code>{code}</Code></Error>".encode()
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(404)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_PUT = do_GET

    with serving(Handler) as address:
        account = {"gcs_base_url": address, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        for name, value in {
            "AWS_ALLOW_HTTP": "true", "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account),
            "AZURE_STORAGE_ACCOUNT_NAME": "ops", "AZURE_SKIP_SIGNATURE": "true", "AZURE_STORAGE_ENDPOINT": address,
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        client = Client(url)
        for ask in (client.list_top, lambda: client.list("plans"), lambda: client.get("probe"), lambda: client.create("probe", b"x")):
            with pytest.raises(FileError, match="does not exist"):
                ask()
