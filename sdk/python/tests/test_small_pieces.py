"""A server chooses how it cuts an answer into pieces. What a client holds depends on the bytes, not on the pieces."""

from __future__ import annotations

import array
import fcntl
import gc
import os
import socket
import termios
import threading
import tracemalloc
from typing import Any

import pytest
from flavours import Flavour
from stage import Answer, Clock, Reply, Seen, Stage

from svc_client.worker import delivery_app

BODY = b" " * (64 * 1024 - 15) + b'{"status":"ok"}'
BYTES = len(BODY)
HELD_MAX = 3 * BYTES + 192 * 1024
"""A connection takes up to 200 KiB. A list takes eight bytes a piece even where all its pieces are one object."""
PIECE = 64 * 1024
CHUNKED = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n"

# On trio httpx2 leaves generators of its own behind, of which trio complains.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

Feed = tuple[bytes, bytes, int]
"""The field that frames the body, the body as it is sent, and the bytes of a write."""
_sized = b"Content-Length: %d" % BYTES
WHOLE: Feed = (_sized, BODY, PIECE)
CHUNKS: Feed = (b"Transfer-Encoding: chunked", CHUNKED, PIECE)
SEGMENTS: Feed = (_sized, BODY, 1)


def await_read(port: int) -> None:
    """Waits until the program has taken all that was sent to this port from the system."""
    sockets = [each for each in gc.get_objects() if isinstance(each, socket.socket) and each.fileno() >= 0]
    [end] = [each for each in sockets if each.getsockname()[1:2] == (port,)]
    unread = array.array("i", [1])
    while unread[0] > 0:
        os.sched_yield()
        fcntl.ioctl(end.fileno(), termios.FIONREAD, unread)


def cut(feed: Feed, held: list[int]) -> Answer:
    """Answers in pieces, and notes what the program holds before the last byte."""
    field, body, size = feed

    def send(reply: Reply, seen: Seen) -> None:
        reply.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + field + b"\r\n\r\n")
        before = tracemalloc.get_traced_memory()[0]
        for start in range(0, len(body) - 1, size):
            reply.write(body[start : min(start + size, len(body) - 1)])
        await_read(seen.connection)
        held.append(tracemalloc.get_traced_memory()[0] - before)
        reply.write(body[-1:])

    return send


CASES = [(CHUNKS, "data"), (CHUNKS, "read"), (SEGMENTS, "data")]


@pytest.mark.parametrize(("feed", "mode"), CASES, ids=["chunks-data", "chunks-read", "segments-data"])
def test_an_answer_in_pieces_of_a_byte_takes_no_more_memory(sdk: Flavour, feed: Feed, mode: str) -> None:
    held: list[int] = []
    with Stage(cut(WHOLE, held), cut(feed, held)) as stage:
        client = sdk.client(stage, Clock(), max_retries=0)
        for _ in range(2):
            tracemalloc.start()
            try:
                if mode == "data":
                    assert sdk.call(client, "health") == {"status": "ok"}
                else:
                    assert sdk.run(sdk.stream(client, "health").read) == BODY
            finally:
                tracemalloc.stop()
    assert max(held) < HELD_MAX


def test_a_delivery_in_segments_of_a_byte_takes_no_more_memory() -> None:
    worker: Any = object()
    app: Any = delivery_app(worker, verify=lambda _: True)
    statuses: list[str] = []

    def peak(size: int) -> int:
        near, far = socket.socketpair()

        def send() -> None:
            for start in range(0, BYTES, size):
                near.sendall(BODY[start : start + size])

        thread = threading.Thread(target=send)
        with near, far, far.makefile("rb") as body:
            environ: dict[str, Any] = {
                "REQUEST_METHOD": "POST",
                "HTTP_X_SVC_EXECUTION_DISPATCH": "1",
                "CONTENT_LENGTH": str(BYTES),
                "wsgi.input": body,
            }
            thread.start()
            tracemalloc.start()
            try:
                app(environ, lambda status, _: statuses.append(status))
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
                thread.join()

    assert max(peak(PIECE), peak(1)) < HELD_MAX
    assert statuses == ["400 Bad Request"] * 2
