"""The cancellation of a handler."""

from __future__ import annotations

import threading
from typing import Literal, TypeAlias

from .._cancellation import Cancellation

CancellationReason: TypeAlias = Literal["cancelled", "lease_lost", "stopping"]
"""A caller cancelled the run; the lease is lost, so another worker may have the run; or the worker stops."""


class RunCancellation(Cancellation):
    """Set when the handler must stop. As the `cancellation` of a call it ends that call too."""

    def __init__(self) -> None:
        super().__init__()
        self._reason: CancellationReason | None = None
        self._first = threading.Lock()

    @property
    def reason(self) -> CancellationReason | None:
        """The first reason to stop; None while the handler may continue."""
        return self._reason

    def cancel(self, reason: CancellationReason = "cancelled") -> None:
        with self._first:
            if self._reason is not None:
                return
            self._reason = reason
        super().cancel()
