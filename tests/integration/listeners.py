# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports that are not what a client expects behind them."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@contextmanager
def closed_port() -> Iterator[str]:
    """An address without a listener, on which no other process can listen meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield _address(bound)


@contextmanager
def silent_port() -> Iterator[str]:
    """An address that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield _address(listener)


@contextmanager
def tls_port(directory: Path) -> Iterator[str]:
    """An address that speaks TLS (with a self-signed certificate) and hangs up after the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate(directory))

    def serve() -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                raw, _ = listener.accept()
                with raw, suppress(OSError), context.wrap_socket(raw, server_side=True) as connection:
                    connection.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield _address(listener)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextmanager
def renaming_port(target: str, before: bytes, after: bytes) -> Iterator[str]:
    """An address that passes on to the broker at `target`, and writes `after` for `before`, which is as long, in what the broker answers."""
    assert len(before) == len(after)

    def passed_on(source: socket.socket, sink: socket.socket, rewrite: bool) -> None:
        with suppress(OSError), source.makefile("rb") as stream:
            while size := stream.read(4):
                frame = stream.read(int.from_bytes(size, "big"))
                sink.sendall(size + (frame.replace(before, after) if rewrite else frame))
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        host, _, port = target.rpartition(":")
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = listener.accept()
                broker = socket.create_connection((host, int(port)))
                for source, sink, rewrite in ((client, broker, False), (broker, client, True)):
                    threading.Thread(target=passed_on, args=(source, sink, rewrite), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield _address(listener)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def _address(bound: socket.socket) -> str:
    host, port = bound.getsockname()
    return f"{host}:{port}"


def _certificate(directory: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    begin = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - datetime.timedelta(days=1))
        .not_valid_after(begin + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    path = directory / "listener.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path
