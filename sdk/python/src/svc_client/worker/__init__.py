"""Executes runs outside of the service: a worker leases them over HTTP, calls handlers in threads, and sends the
results."""

from __future__ import annotations

from ._cancelled import CancellationReason, RunCancellation
from ._context import RunContext
from ._delivery import DeliveryApp, Verify, delivery_app
from ._endings import DeliveryError, FailureStatus, RunCancelled, RunFailure, RunSuspended, WorkerBusyError
from ._log import LogLevel, OnLog, WorkerLog
from ._options import HandlerCall, PluginHandler
from ._signals import stop_on_signals
from ._worker import Delivered, Worker

__all__ = [
    "CancellationReason",
    "Delivered",
    "DeliveryApp",
    "DeliveryError",
    "FailureStatus",
    "HandlerCall",
    "LogLevel",
    "OnLog",
    "PluginHandler",
    "RunCancellation",
    "RunCancelled",
    "RunContext",
    "RunFailure",
    "RunSuspended",
    "Verify",
    "Worker",
    "WorkerBusyError",
    "WorkerLog",
    "delivery_app",
    "stop_on_signals",
]
