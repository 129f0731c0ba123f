"""A real server on a socket with prescribed answers, and a clock that the test moves."""

from __future__ import annotations

import contextlib
import json as json_module
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from typing import Any

from typing_extensions import Self


@dataclass(frozen=True)
class Seen:
    """One request as the server saw it."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int


class Reply:
    """Writes one answer to the connection."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._handler = handler
        self.wire = handler.wfile

    def send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        lines = [f"HTTP/1.1 {status} Reason", *(f"{name}: {value}" for name, value in headers.items())]
        if status != 204:
            lines.append(f"Content-Length: {len(body)}")
        self.wire.write("\r\n".join([*lines, "", ""]).encode() + body)
        self.wire.flush()

    def write(self, data: bytes) -> None:
        self.wire.write(data)
        self.wire.flush()

    def hang_up(self) -> None:
        self._handler.close_connection = True
        self._handler.connection.shutdown(socket.SHUT_RDWR)


Answer = Callable[[Reply, Seen], None]


class Stage:
    """Sends the given answers in their order, and repeats the last one for all further requests."""

    def __init__(self, *answers: Answer, context: Any = None) -> None:
        self.seen: list[Seen] = []
        self.done = Event()
        """Set when the test is over, for answers that wait."""
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._listeners: list[Callable[[bytes], None]] = []
        stage = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                stage._sockets.append(self.request)
                super().setup()

            def handle(self) -> None:
                try:
                    super().handle()
                except (OSError, ValueError):
                    self.close_connection = True

            def answer(self) -> None:
                body = self.read_body()
                headers = {name.lower(): value for name, value in self.headers.items()}
                seen = Seen(self.command, self.path, headers, body, self.client_address[1])
                with stage._lock:
                    stage.seen.append(seen)
                    at = min(len(stage.seen), len(answers)) - 1
                answers[at](Reply(self), seen)

            def read_body(self) -> bytes:
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.piece(int(self.headers.get("Content-Length", "0")))
                body = b""
                while (size := int(self.rfile.readline(), 16)) > 0:
                    body += self.piece(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def piece(self, size: int) -> bytes:
                piece = self.rfile.read(size)
                if len(piece) != size:
                    raise ValueError("the request broke off")
                for listener in stage._listeners:
                    listener(piece)
                return piece

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 128

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        scheme = "http"
        if context is not None:
            scheme = "https"
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.address = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def on_piece(self, listener: Callable[[bytes], None]) -> None:
        """Tells of each piece of a body as it arrives."""
        self._listeners.append(listener)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self._server.shutdown()
        self._thread.join()
        for sock in self._sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._server.server_close()


def json(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    text = json_module.dumps(body).encode()
    return lambda reply, _: reply.send(status, {"content-type": "application/json", **(headers or {})}, text)


def problem(
    status: int,
    code: str,
    more: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    document = {
        "type": f"urn:svc:problem:{code}",
        "title": f"The title of {code}",
        "status": status,
        "detail": f"What happened with {code}.",
        "instance": "urn:svc:request:c-1",
        "code": code,
        "retryable": False,
        "correlationId": "c-1",
        **(more or {}),
    }
    return json(
        document, status, {"content-type": "application/problem+json; charset=utf-8", **(headers or {})}
    )


def foreign(status: int, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer that comes from a proxy and not from the service."""
    return lambda reply, _: reply.send(
        status, {"content-type": "text/html", **(headers or {})}, b"<html>a proxy</html>"
    )


def empty(reply: Reply, _: Seen) -> None:
    reply.send(204, {}, b"")


def hang_up(reply: Reply, _: Seen) -> None:
    reply.hang_up()


def silence(reply: Reply, _: Seen) -> None:
    """Says nothing, ever."""


def broken(reply: Reply, _: Seen) -> None:
    """Breaks off inside the answer."""
    reply.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a":')
    reply.hang_up()


class Clock:
    """Time that passes in pauses alone, and chance that takes nothing off."""

    def __init__(self) -> None:
        self.chance = 0.0
        self.slept: list[float] = []
        self.at = 1_767_225_600.0

    def now(self) -> float:
        return self.at

    def random(self) -> float:
        return self.chance

    def pause(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds
