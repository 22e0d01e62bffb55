"""A real S3 server on this machine: s3proxy, with a gate in front of it that makes faults (see `object_gate`)."""

import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import obstore
from obstore.store import S3Store

from rig import jars, java
from rig.errors import RigError
from rig.object_gate import Gate, gate
from rig.ports import PortBlock
from rig.process import Processes

USER, SECRET, REGION = "rig", "rig-secret", "us-east-1"
START_SECONDS = 60
HEAP = "256m"


@dataclass(frozen=True)
class ObjectStore:
    """The running server. `endpoint`: through the gate. `server_endpoint`: the server itself. `directory`: has a directory for each bucket."""

    gate: Gate
    server_endpoint: str
    directory: Path
    pid: int

    @property
    def endpoint(self) -> str:
        return self.gate.endpoint

    def bucket(self) -> str:
        """The name of a new, empty bucket."""
        name = f"bucket-{uuid.uuid4().hex[:12]}"
        (self.directory / name).mkdir()
        return name

    def environment(self) -> dict[str, str]:
        """The environment variables with which obstore, the AWS tools and Hadoop's S3A find the server and log in."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": USER,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION,
            "AWS_ALLOW_HTTP": "true",
        }


@contextmanager
def object_store(directory: Path) -> Iterator[ObjectStore]:
    """Run an S3 server with its data below `directory`."""
    data = directory / "data"
    data.mkdir(parents=True)
    ports = PortBlock()
    processes = Processes(keep_open=[ports.lock_fd])
    try:
        endpoint = f"http://127.0.0.1:{ports.take()}"
        settings = {
            "s3proxy.endpoint": endpoint,
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.identity": USER,
            "s3proxy.credential": SECRET,
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(data),
        }
        file = directory / "s3proxy.conf"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        options = [f"-Xmx{HEAP}", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        argv = java.command(jars.s3proxy(), "org.gaul.s3proxy.Main", "--properties", str(file), jvm_options=options)
        pid = processes.start("s3proxy", argv, directory / "s3proxy.log")
        _wait(endpoint, processes, directory / "s3proxy.log")
        with gate(endpoint, lambda bucket, key: _signed(endpoint, bucket, key)) as front:
            yield ObjectStore(front, endpoint, data, pid)
    finally:
        processes.close()
        ports.release()


def _signed(endpoint: str, bucket: str, key: str) -> str:
    config: Any = {"endpoint": endpoint, "access_key_id": USER, "secret_access_key": SECRET, "region": REGION}
    return obstore.sign(S3Store(bucket, config=config, client_options={"allow_http": True}), "PUT", key, timedelta(minutes=1))


def _wait(endpoint: str, processes: Processes, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            urllib.request.urlopen(endpoint, timeout=5)
        except urllib.error.HTTPError:
            return  # it answers, and wants a login
        except OSError as error:
            if processes.returncode("s3proxy") is not None or time.monotonic() > deadline:
                raise RigError(f"s3proxy has not started: {log.read_text(errors='replace')[-2000:]}") from error
            time.sleep(0.1)
        else:
            return
