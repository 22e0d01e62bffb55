# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a store refuses, in its own words, and what the operator reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("obstore")

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.local_machine import store_problems
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store import client as store_client
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client
from rig.web import QuietHandler, serving


@contextmanager
def refused(monkeypatch: pytest.MonkeyPatch, url: str, status: int, code: str) -> Iterator[Client]:
    """A client of a store that answers every request with this error."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            content = f"<Error><Code>{code}</Code></Error>".encode()
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_PUT = do_GET

    monkeypatch.setattr(store_client, "PATIENCE", 0.0)
    with serving(Handler) as address:
        account = {"gcs_base_url": address, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        for name, value in {
            "AWS_ALLOW_HTTP": "true", "AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "eu-central-1", "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account), "AZURE_STORAGE_ACCOUNT_NAME": "ops",
            "AZURE_SKIP_SIGNATURE": "true", "AZURE_STORAGE_ENDPOINT": address,
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        yield Client(url)


@pytest.mark.parametrize(
    ("url", "code"), [("az://box/fleet", "ContainerNotFound"), ("gs://box/fleet", "NoSuchBucket"), ("s3://box/fleet", "NoSuchBucket")]
)
def test_a_bucket_that_does_not_exist_is_named_whatever_is_asked_first(url: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused(monkeypatch, url, 404, code) as client:
        for ask in (client.list_top, lambda: client.list("plans"), lambda: client.get("probe"), lambda: client.create("probe", b"x")):
            with pytest.raises(FileError, match="does not exist"):
                ask()


@pytest.mark.parametrize(("status", "code"), [(400, "ExpiredToken"), (400, "InvalidToken"), (401, "Unauthorized"), (403, "AccessDenied")])
def test_credentials_that_are_lost_are_named_at_once(status: int, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused(monkeypatch, "s3://box/fleet", status, code) as client:
        for ask in (client.list_top, lambda: client.get("journal"), lambda: client.replace("journal", b"x", '"etag"')):
            with pytest.raises(FileError, match=f"{code}.*check the credentials.*AWS_SECRET_ACCESS_KEY"):
                ask()


@pytest.mark.parametrize(("status", "code", "remedy"), [(403, "AccessDenied", "check the credentials"), (404, "NoSuchBucket", "create it")])
def test_the_first_check_of_a_run_names_a_store_that_cannot_be_used(
    status: int, code: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refused(monkeypatch, "s3://box/fleet", status, code) as client:
        (problem,) = store_problems(client.url)
    assert problem.startswith("kafka_recovery_workdir: s3://box/fleet ") and remedy in problem


def test_a_folder_that_does_not_exist_yet_passes_the_first_check(monkeypatch: pytest.MonkeyPatch) -> None:
    with refused(monkeypatch, "s3://box/fleet", 404, "NoSuchKey") as client:
        assert list(store_problems(f"{client.url}/")) == []


@pytest.mark.parametrize("status", [400, 503])
@pytest.mark.parametrize(
    ("url", "variable"),
    [("az://box/fleet", "AZURE_STORAGE_ENDPOINT"), ("gs://box/fleet", "GOOGLE_BASE_URL"), ("s3://box/fleet", "AWS_ENDPOINT_URL")],
)
def test_the_variable_with_the_address_of_that_store_is_named(
    url: str, variable: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refused(monkeypatch, url, status, "Wrong") as client, pytest.raises(FileError) as caught:
        client.get("journal")
    named = {word for word in ("AWS_ENDPOINT_URL", "GOOGLE_BASE_URL", "AZURE_STORAGE_ENDPOINT") if word in str(caught.value)}
    assert named == {variable}


@pytest.mark.parametrize(("url", "variable"), [("az://box/fleet", "AZURE_STORAGE_ENDPOINT"), ("gs://box/fleet", "GOOGLE_BASE_URL")])
def test_that_variable_has_the_address(url: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_SKIP_SIGNATURE", "true")
    with refused(monkeypatch, url, 404, "NoSuchBucket") as client:
        address = os.environ["AWS_ENDPOINT_URL"]
        for name in ("AZURE_STORAGE_ENDPOINT", "GOOGLE_SERVICE_ACCOUNT_KEY"):
            monkeypatch.delenv(name)
        monkeypatch.setenv(variable, address)
        with pytest.raises(FileError, match="does not exist"):
            Client(client.url).get("journal")


def test_a_bucket_of_another_region_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 answers with a redirect that does not say where to."""
    with refused(monkeypatch, "s3://box/fleet", 301, "PermanentRedirect") as client:
        for ask in (client.list_top, lambda: client.get("journal"), lambda: client.create("probe", b"x")):
            with pytest.raises(FileError, match=r"is in another region.*AWS_REGION"):
                ask()


def test_a_server_without_etags_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with refused(monkeypatch, "s3://box/fleet", 200, "") as client:
        for ask in (lambda: client.get("probe"), lambda: client.create("probe", b"x")):
            with pytest.raises(FileError, match=r"s3://box/fleet cannot be used: .*without an ETag"):
                ask()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AWS_ENDPOINT_URL", "store.example.com:9000"),
        ("AWS_ENDPOINT_URL", " https://store.example.com"),
        ("AWS_ENDPOINT_URL_S3", "store.example.com"),
        ("AWS_ENDPOINT_URL", "https://store example.com"),
        ("AWS_ENDPOINT_URL", "https://[::1"),
        ("AWS_ACCESS_KEY_ID", "AKIA-hidden\n"),
        ("AWS_SECRET_ACCESS_KEY", "hidden\n"),
        ("AWS_SESSION_TOKEN", "hidden\r"),
        ("AZURE_STORAGE_TOKEN", "hidden\n"),
        ("AZURE_STORAGE_ENDPOINT", "store.example.com"),
    ],
)
def test_a_variable_that_cannot_be_sent_is_named_without_its_value(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """obstore panics on some of these."""
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "ops")
    monkeypatch.setenv(variable, value)
    url = f"{'az' if variable.startswith('AZURE') else 's3'}://box/fleet"
    with pytest.raises(FileError, match=f"{url} cannot be used: {variable} ") as caught:
        Client(url).list_top()
    assert "hidden" not in str(caught.value)
