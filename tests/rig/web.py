"""A web server of one's own on this machine."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class QuietHandler(BaseHTTPRequestHandler):
    """A handler that writes nothing on the terminal."""

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], certificate: Path | None = None) -> Iterator[str]:
    """Serve at the URL that this yields, over TLS if there is a `certificate` (a file with its key)."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
