"""What a worker tells of itself."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from .._logging import CredentialFilter

if TYPE_CHECKING:
    from .._generated import models

LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True)
class WorkerLog:
    """One thing that a worker did, or that failed. Holds no credential and no lease token."""

    level: LogLevel
    message: str
    run_id: str | None = None
    handler_id: str | None = None
    error: BaseException | None = None
    """What was thrown, as it is: what a handler throws is told here and nowhere else."""


OnLog: TypeAlias = Callable[[WorkerLog], object]

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

_logger = logging.getLogger("svc_client.worker")
_logger.addFilter(CredentialFilter())


def to_logging(said: WorkerLog) -> None:
    """Where nobody asked for it otherwise: the logger `svc_client.worker`."""
    of = "" if said.run_id is None else f" (run {said.run_id}, handler {said.handler_id})"
    _logger.log(_LEVELS[said.level], "%s%s", said.message, of, exc_info=said.error)


class Log:
    """Whoever listens cannot end a worker by failing."""

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
        with contextlib.suppress(Exception):
            self._on_log(WorkerLog(level, message, run_id, handler_id, error))
