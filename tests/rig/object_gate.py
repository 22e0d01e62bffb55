"""An HTTP proxy in front of an S3 server: requests that are refused, cut or held, and answers that are lost.

s3proxy compares an ETag first and writes later, so that two writers at once may both get the answer that they replaced the same object. S3 does
both at one moment. The gate lets one request with a condition through at a time for each object, and so is as strict as S3.
"""

import http.client
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from rig.web import QuietHandler

CONDITIONS = ("If-Match", "If-None-Match")
HOP_BY_HOP = {"connection", "transfer-encoding", "keep-alive"}


class Act(Enum):
    """What happens to one request."""

    CUT = "cut"  # the connection is closed; the server never gets the request
    LOSE = "lose"  # the server gets it, but the client never gets the answer
    UNCONDITIONAL = "unconditional"  # its conditions are dropped, as by servers that do not know them
    HOLD = "hold"  # waits until `Gate.release` before it reaches the server


@dataclass(frozen=True)
class Request:
    """A request, as rules see it. `key`: the object, empty for the bucket itself."""

    method: str
    bucket: str
    key: str
    conditional: bool


Rule = Callable[[Request], Act | int | None]  # an HTTP status is the answer instead of the server's; None: passed on


@dataclass
class Gate:
    """Rules by bucket, and what was counted. Tests share one gate, each with buckets of its own."""

    upstream: str
    sign: Callable[[str, str], str]  # a signed URL to put an object without conditions, by bucket and key
    endpoint: str = ""
    rules: dict[str, Rule] = field(default_factory=dict)
    requests: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    held: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))  # acquired by a test: a request waits now
    _released: threading.Event = field(default_factory=threading.Event)
    _locks: dict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    def release(self) -> None:
        """Let all held requests go on, also those that come later."""
        self._released.set()

    @contextmanager
    def ruled(self, bucket: str, rule: Rule) -> Iterator[None]:
        """Apply a rule to the requests of a bucket in the block."""
        self._released.clear()
        self.rules[bucket] = rule
        try:
            yield
        finally:
            del self.rules[bucket]
            self._released.set()

    def act(self, request: Request) -> Act | int | None:
        """What happens to a request. Waits if it is held."""
        self.requests[request.bucket][request.method] += 1
        rule = self.rules.get(request.bucket)
        act = rule(request) if rule else None
        if act is Act.HOLD:
            self.held.release()
            self._released.wait()
        return act

    def one_at_a_time(self, request: Request) -> Any:
        """A context manager in which a request with a condition is alone with its object."""
        return self._locks[f"{request.bucket}/{request.key}"] if request.conditional else nullcontext()


@contextmanager
def gate(upstream: str, sign: Callable[[str, str], str]) -> Iterator[Gate]:
    """Serve a gate in front of the server at the URL `upstream`. `sign`: see `Gate`."""
    state = Gate(upstream, sign)

    class Handler(_Handler):
        gate = state

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.release()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(QuietHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    gate: Gate
    _server: http.client.HTTPConnection | None = None

    def _handle(self) -> None:
        body = self._body()
        bucket, _, key = urlsplit(self.path).path.lstrip("/").partition("/")
        request = Request(self.command, bucket, key, self.command == "PUT" and any(name in self.headers for name in CONDITIONS))
        act = self.gate.act(request)
        if act is Act.CUT:
            self.close_connection = True
            return
        if isinstance(act, int):
            self._answer(act, [("Content-Type", "application/xml")], b"<Error><Code>%s</Code></Error>" % _CODES.get(act, b"Fault"))
            return
        with self.gate.one_at_a_time(request):
            answer = self._ask(body, self.gate.sign(bucket, key) if act is Act.UNCONDITIONAL else None)
        if act is Act.LOSE:
            self.close_connection = True
        else:
            self._answer(*answer)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _handle

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _ask(self, body: bytes, signed: str | None) -> tuple[int, list[tuple[str, str]], bytes]:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in {*HOP_BY_HOP, "expect", "content-length"}}
        target = self.path
        if signed is not None:  # the signature of the client covers its conditions
            headers, target = {"Host": urlsplit(signed).netloc}, signed.removeprefix(self.gate.upstream)
        if body or self.command in ("PUT", "POST"):
            headers["Content-Length"] = str(len(body))
        if self._server is None:
            self._server = http.client.HTTPConnection(urlsplit(self.gate.upstream).netloc)
        try:
            self._server.request(self.command, target, body or None, headers)
            response = self._server.getresponse()
        except (http.client.RemoteDisconnected, ConnectionError):  # the server has closed a connection that was idle
            self._server.close()
            self._server.request(self.command, target, body or None, headers)
            response = self._server.getresponse()
        return response.status, response.getheaders(), response.read()

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in {*HOP_BY_HOP, "content-length"} or (self.command == "HEAD" and name.lower() == "content-length"):
                self.send_header(name, value)
        if self.command != "HEAD" and status not in (204, 304):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def finish(self) -> None:
        super().finish()
        if self._server is not None:
            self._server.close()


_CODES = {403: b"AccessDenied", 500: b"InternalError", 503: b"SlowDown"}
