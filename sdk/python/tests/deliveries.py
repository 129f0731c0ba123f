"""Requests that deliver no run: the WSGI and the ASGI application refuse them alike."""

from __future__ import annotations

from typing import Any

MESSAGE = {"runId": "7", "reason": "run_ready", "scheduledAtUtc": "2026-01-01T00:00:00.000Z"}

REFUSED: list[tuple[int, str, dict[str, str | None]]] = [
    (405, "GET", {}),
    (400, "POST", {"x-svc-execution-dispatch": None}),
    (400, "POST", {"x-svc-execution-dispatch": "true"}),
    (401, "POST", {"authorization": "Bearer stranger"}),
    (400, "POST", {"content-length": "-1"}),
    (400, "POST", {"content-length": "\xb2"}),
    (400, "POST", {"content-length": "1000"}),
    (413, "POST", {"content-length": "65537"}),
    (413, "POST", {"content-length": "9" * 5_000}),
]
"""The status, the method, and the headers in which the request differs from a delivery."""

NAMES_NO_RUN: list[Any] = [
    *(b"", b"no json", b"[]", b'"7"', b"\xff", b"[" * 20_000, {}, {"runId": 7}, {"runId": " "}),
    *({"runId": "a\nb"}, {"runId": "7" * 161}, {**MESSAGE, "reason": 1}, {**MESSAGE, "scheduledAtUtc": {}}),
]
"""Bodies."""


class _Truthful:
    """As true as can be, but not `True`."""

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


NOT_TRUE: list[Any] = [None, False, 0, 1, "no", {"email": "queue"}, [True], _Truthful()]
"""Answers of a `verify` that verify nothing."""


def environ_name(header: str) -> str:
    """The name of a header in WSGI."""
    name = header.upper().replace("-", "_")
    return name if name == "CONTENT_LENGTH" else f"HTTP_{name}"
