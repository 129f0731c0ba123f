"""The body of an answer in memory, up to a limit."""

from __future__ import annotations

from ._errors import APIResponseError
from ._operation import AnswerForm, OperationSpec

RESPONSE_BYTES_MAX = 128 * 1024 * 1024
"""The longest answer that a client holds in memory: twice the largest JSON answer of the service."""

_REFUSAL_BYTES_MAX = 1024 * 1024
"""A problem document is short, so the client reads no more of a refusal than this."""


class BoundedBody:
    """Collects the body of an answer. It refuses the chunk that makes the body too long."""

    def __init__(self, operation: OperationSpec, form: AnswerForm | None, bytes_max: int) -> None:
        self._operation = operation
        self._bytes_max = bytes_max if form is not None else min(bytes_max, _REFUSAL_BYTES_MAX)
        # One buffer: a list would keep an object for each piece, however small the pieces are.
        self._bytes = bytearray()

    def add(self, chunk: bytes) -> None:
        if len(self._bytes) + len(chunk) > self._bytes_max:
            message = f"{self._operation.name}: the answer is longer than {self._bytes_max} bytes."
            raise APIResponseError(message, operation=self._operation.id)
        self._bytes += chunk

    def whole(self) -> bytes:
        return bytes(self._bytes)
