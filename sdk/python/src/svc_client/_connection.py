"""Connections over HTTP/1.1, kept for the next call."""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import re
import socket
import ssl
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import SplitResult

from ._limit import Limit

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_CHUNK = 65_536


class _TimedSocket:
    """The part of a socket that `http.client` uses. The limit of the current call bounds each wait."""

    def __init__(self, sock: socket.socket, limit: Callable[[], Limit]) -> None:
        self._sock = sock
        self._limit = limit
        self._readers = 0
        self._closed = False
        self.surplus = False
        """Whether bytes arrived after the answer."""

    def sendall(self, data: ReadableBuffer) -> None:
        view = memoryview(data)
        for start in range(0, len(view), _CHUNK):
            self._sock.settimeout(self._limit().remaining())
            self._sock.sendall(view[start : start + _CHUNK])

    def receive(self, buffer: WriteableBuffer) -> int:
        self._sock.settimeout(self._limit().remaining())
        return self._sock.recv_into(buffer)

    def makefile(self, _mode: str) -> io.BufferedReader:
        self._readers += 1
        return _AnswerReader(_TimedReader(self))

    def close(self) -> None:
        """`http.client` closes the connection of an answer that is the last one before its body is read."""
        self._closed = True
        self._close_unused()

    def leave(self) -> None:
        """A reader was closed."""
        self._readers -= 1
        self._close_unused()

    def _close_unused(self) -> None:
        if self._closed and self._readers <= 0:
            self._sock.close()


class _TimedReader(io.RawIOBase):
    def __init__(self, sock: _TimedSocket) -> None:
        self.sock = sock
        self.ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        return 0 if self.ended else self.sock.receive(buffer)

    def close(self) -> None:
        if not self.closed:
            self.sock.leave()
        super().close()


class _AnswerReader(io.BufferedReader):
    """Reads one answer. Bytes after it belong to no request, and the next call would take them for its answer."""

    def __init__(self, raw: _TimedReader) -> None:
        super().__init__(raw)
        self._reader = raw

    def close(self) -> None:
        if not self.closed:
            self._reader.ended = True
            self._reader.sock.surplus = self._reader.sock.surplus or len(self.peek(1)) > 0
        super().close()


class _Answer(http.client.HTTPResponse):
    """The final answer to a request (RFC 9110 section 15.2). It skips all interim answers, such as 103; `http.client`
    skips 100 alone. After 101 the server no longer speaks HTTP."""

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            version, status, reason = cast("Any", super())._read_status()
            if not 100 <= status < 200 or status == 101:
                return version, status, reason
            http.client.parse_headers(self.fp)


class Connection(http.client.HTTPConnection):
    """One connection. One call at a time uses it, and sets its `limit`."""

    response_class = _Answer
    # Off even if the program turned on debug output of `http.client`, which would print credentials.
    debuglevel = 0
    limit: Limit

    def __init__(self, url: SplitResult, context: ssl.SSLContext | None) -> None:
        super().__init__(url.hostname or "", url.port or (80 if context is None else 443))
        self.default_port = 80 if context is None else 443
        self._context = context
        self._raw: socket.socket | None = None
        self.idle_since = 0.0
        self.idle_max = 0.0

    def connect(self) -> None:
        found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        failure = OSError("the host has no address")
        for left, (family, kind, protocol, _, address) in zip(range(len(found), 0, -1), found, strict=True):
            self._raw = socket.socket(family, kind, protocol)
            try:
                # Leave time for the other addresses if one does not answer.
                self._raw.settimeout(self.limit.remaining() / left)
                self._raw.connect(address)
                self._raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._context is not None:
                    self._raw.settimeout(self.limit.remaining())
                    self._raw = self._context.wrap_socket(self._raw, server_hostname=self.host)
                self.sock = cast("Any", _TimedSocket(self._raw, lambda: self.limit))
                return
            except OSError as error:
                self._raw.close()
                self.limit.remaining()
                failure = error
            except BaseException:
                self._raw.close()
                raise
        raise failure

    def drop(self) -> None:
        """Closes it for good, also while a call uses it."""
        self.close()
        if self._raw is not None:
            self._raw.close()

    def interrupt(self) -> None:
        """Ends a wait of another thread."""
        sock = self._raw
        if sock is not None:
            with contextlib.suppress(OSError):
                # Shut down the plain socket: the TLS socket would drop its state while another thread reads.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def is_fresh(self, now: float) -> bool:
        """Whether the connection still looks open, without sending anything."""
        sock = self._raw
        timed = cast("_TimedSocket | None", self.sock)
        if sock is None or timed is None or timed.surplus or now - self.idle_since > self.idle_max:
            return False
        try:
            sock.settimeout(0)
            # Readable bytes mean that the server closed the connection, or sent bytes without a request.
            socket.socket.recv(sock, 1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False


_KEEP_ALIVE = re.compile(r"(?:^|,)\s*timeout\s*=\s*([0-9]{1,6})\b")


def idle_seconds(keep_alive: str | None) -> float:
    """How long to keep an idle connection: less than the server does, so that no request meets a closing connection."""
    said = _KEEP_ALIVE.search(keep_alive or "")
    return 4.0 if said is None else min(60.0, max(0.0, int(said[1]) - 2.0))


class Pool:
    """The idle connections to one address. Threads share it."""

    idle_count_max = 10

    def __init__(self, url: SplitResult, context: ssl.SSLContext | None, now: Callable[[], float]) -> None:
        if url.scheme == "https" and context is None:
            context = ssl.create_default_context()
        self._url = url
        self._context = context
        self._now = now
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._process = os.getpid()

    def take(self) -> Connection:
        """The connection that was used last, if it is fresh; else a new one."""
        while (connection := self._pop()) is not None:
            if connection.is_fresh(self._now()):
                return connection
            connection.drop()
        return Connection(self._url, self._context)

    def give(self, connection: Connection, keep_alive: str | None) -> None:
        connection.idle_since = self._now()
        connection.idle_max = idle_seconds(keep_alive)
        with self._lock:
            self._leave_to_parent()
            self._idle.append(connection)
            surplus = self._idle.pop(0) if len(self._idle) > self.idle_count_max else None
        if surplus is not None:
            surplus.drop()

    def close(self) -> None:
        """Closes the idle connections. Calls in progress continue, and a later call opens a new connection."""
        while (connection := self._pop()) is not None:
            connection.drop()

    def _pop(self) -> Connection | None:
        with self._lock:
            self._leave_to_parent()
            return self._idle.pop() if self._idle else None

    def _leave_to_parent(self) -> None:
        """Drops the connections in a forked process: parent and child must not share them."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._idle = []
