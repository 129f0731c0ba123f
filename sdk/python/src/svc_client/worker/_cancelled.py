"""Telling a handler to stop, and why."""

from __future__ import annotations

import threading
from typing import Literal, TypeAlias

from .._cancellation import Cancellation

CancellationReason: TypeAlias = Literal["cancelled", "lease_lost", "stopping"]
"""Somebody cancelled the run; the lease is another worker's by now, or may be; the worker stops."""


class RunCancellation(Cancellation):
    """Set when a handler is to stop. As the `cancellation` of a call it ends that call too."""

    def __init__(self) -> None:
        super().__init__()
        self._reason: CancellationReason | None = None
        self._first = threading.Lock()

    @property
    def reason(self) -> CancellationReason | None:
        """Why; None while there is nothing to stop for. The first reason stays."""
        return self._reason

    def cancel(self, reason: CancellationReason = "cancelled") -> None:
        with self._first:
            if self._reason is not None:
                return
            self._reason = reason
        super().cancel()
