"""Handlers that the service does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from ._log import Log


class UnknownHandlers:
    """Tells the log which handlers the service does not know: once each, and again after the service has known one."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._logged: frozenset[str] = frozenset()

    def heard(self, field: str | None) -> None:
        """`field` is the header field of an answer to a lease call that names them."""
        unknown = [] if field is None else [unquote(name.strip()) for name in field.split(",")]
        for handler in unknown:
            if handler not in self._logged:
                self._log.say(
                    "warning",
                    f"The service does not know the handler {handler}, so this worker gets no run of it: the setting "
                    "ExecutionRuntime:ExternalHandlers of the service does not name it, or its grants and product "
                    "policies exclude it; the log of the service says which.",
                )
        self._logged = frozenset(unknown)
