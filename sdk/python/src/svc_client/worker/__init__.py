"""Executes runs outside of the service: a worker leases them over HTTP, calls handlers in threads, or as tasks of an
event loop, and sends the results."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ._cancelled import CancellationReason, RunCancellation
from ._context import RunContext
from ._delivery import DeliveryApp, Verify, delivery_app
from ._endings import (
    Delivered,
    DeliveryError,
    FailureStatus,
    RunCancelled,
    RunFailure,
    RunSuspended,
    WorkerBusyError,
)
from ._log import LogLevel, OnLog, WorkerLog
from ._options import HandlerCall, PluginHandler
from ._signals import stop_on_signals
from ._worker import Worker

if TYPE_CHECKING:
    from ._async_context import AsyncHandlerCall, AsyncPluginHandler, AsyncRunContext
    from ._async_delivery import AsyncDeliveryApp, AsyncVerify, async_delivery_app
    from ._async_worker import AsyncWorker

__all__ = [
    "AsyncDeliveryApp",
    "AsyncHandlerCall",
    "AsyncPluginHandler",
    "AsyncRunContext",
    "AsyncVerify",
    "AsyncWorker",
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
    "async_delivery_app",
    "delivery_app",
    "stop_on_signals",
]

_ASYNC = {
    "AsyncDeliveryApp": "_async_delivery",
    "AsyncHandlerCall": "_async_context",
    "AsyncPluginHandler": "_async_context",
    "AsyncRunContext": "_async_context",
    "AsyncVerify": "_async_delivery",
    "AsyncWorker": "_async_worker",
    "async_delivery_app": "_async_delivery",
}


def __getattr__(name: str) -> object:
    """A program whose handlers are functions does not import asyncio."""
    if name in _ASYNC:
        return getattr(import_module(f".{_ASYNC[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
