"""The log events of a worker."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from .._errors import SvcError
from .._logging import CredentialFilter
from ._endings import ORDERS, RunFailure

if TYPE_CHECKING:
    from .._generated import models

LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True)
class WorkerLog:
    """One event of a worker. It holds no credential and no lease token."""

    level: LogLevel
    message: str
    run_id: str | None = None
    handler_id: str | None = None
    error: BaseException | None = None
    """The exception. Exceptions of handlers appear here only; the service never gets them."""


OnLog: TypeAlias = Callable[[WorkerLog], object]

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

_logger = logging.getLogger("svc_client.worker")
_logger.addFilter(CredentialFilter())


def to_logging(said: WorkerLog) -> None:
    """The default log: the logger `svc_client.worker`."""
    of = "" if said.run_id is None else f" (run {said.run_id}, handler {said.handler_id})"
    brief = None if said.error is None else _brief(said.level, said.error)
    if brief is None:
        _logger.log(_LEVELS[said.level], "%s%s", said.message, of, exc_info=said.error)
        return
    _logger.log(_LEVELS[said.level], "%s %s%s", said.message, brief, of)
    _logger.debug("%s%s", said.message, of, exc_info=said.error)


def _brief(level: LogLevel, error: BaseException) -> str | None:
    """One line for an error that the program expects, whose traceback names no fault: a `RunFailure`, and an error of
    the client that the worker survives. None for any other error."""
    if isinstance(error, RunFailure):
        return _line(f"{error.failure_class}: {error}")
    if isinstance(error, SvcError) and level != "error":
        # The cause of a failed connection says why, such as "Connection refused".
        cause = "" if error.__cause__ is None else f" ({error.__cause__})"
        return _line(f"{type(error).__name__}: {error}{cause}")
    return None


def _line(text: str) -> str:
    return " ".join(text.split())


class Log:
    """Calls the listener. An exception of the listener must not end the worker."""

    def __init__(self, on_log: OnLog | None) -> None:
        self._on_log = to_logging if on_log is None else on_log

    def say(
        self,
        level: LogLevel,
        message: str,
        *,
        run: models.ExecutionRun | None = None,
        error: BaseException | None = None,
    ) -> None:
        run_id, handler_id = (None, None) if run is None else (run["id"], run["handlerId"])
        try:
            self._on_log(WorkerLog(level, message, run_id, handler_id, error))
        except ORDERS:
            raise
        except BaseException:
            # An exception of the log itself cannot be logged.
            return
