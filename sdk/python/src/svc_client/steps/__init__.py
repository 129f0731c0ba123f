"""Handlers whose steps keep their results: a function that charges, waits for an approval and sleeps an hour continues
where it was, after each wait, failure and crash."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ._faults import (
    AmbiguousName,
    BranchEnded,
    ChangedCode,
    StepFailed,
    StepNameError,
    StepTimeout,
    StepValueError,
    Stop,
)
from ._handler import AsyncStepHandler, StepDefinition, StepHandler, handler
from ._names import StepName
from ._operations import NamedEvent
from ._retries import Duration, Retry
from ._start import AsyncStartedRun, RunFailed, StartedRun, start, start_async
from ._steps import StepWork
from ._tools import Steps

if TYPE_CHECKING:
    from ._async_tools import AsyncSteps

__all__ = [
    "AmbiguousName",
    "AsyncStartedRun",
    "AsyncStepHandler",
    "AsyncSteps",
    "BranchEnded",
    "ChangedCode",
    "Duration",
    "NamedEvent",
    "Retry",
    "RunFailed",
    "StartedRun",
    "StepDefinition",
    "StepFailed",
    "StepHandler",
    "StepName",
    "StepNameError",
    "StepTimeout",
    "StepValueError",
    "StepWork",
    "Steps",
    "Stop",
    "handler",
    "start",
    "start_async",
]


def __getattr__(name: str) -> object:
    """A program whose handlers are functions does not import asyncio."""
    if name == "AsyncSteps":
        return getattr(import_module("._async_tools", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
