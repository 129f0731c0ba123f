"""The hooks of the caller: an exception in one must not stop deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._generated import models
    from ._options import DispatcherEvent, During, OnError, OnEvent


class Hooks:
    def __init__(self, on_event: OnEvent | None, on_error: OnError | None) -> None:
        self._on_event = on_event
        self._on_error = on_error

    def report(self, event: DispatcherEvent) -> None:
        try:
            if self._on_event is not None:
                self._on_event(event)
        except Exception as error:
            self.fail(error, "hook", None)

    def fail(self, error: BaseException, during: During, event: models.CanonicalOutboxEvent | None) -> None:
        try:
            if self._on_error is not None:
                self._on_error(error, during, event)
        except Exception:
            # There is no other hook to report to.
            return
