"""Handlers under test in both faces. They are coroutine functions; in threads each `await` is of a call that has
already returned."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from steps_stage import Port, RunStage

from svc_client.steps._async_run import run_steps_async
from svc_client.steps._run import Definition
from svc_client.steps._thread_run import run_steps

Handler = Callable[[Any, Any], Any]


def _at_once(coroutine: Any) -> Any:
    """The end of a coroutine whose awaits are of calls that have returned."""
    if not inspect.iscoroutine(coroutine):
        return coroutine
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("a coroutine of a thread gave way")


class _Done:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __await__(self) -> Any:
        return self.value
        yield


class Awaited:
    """The tools of threads, for a handler that awaits them."""

    def __init__(self, steps: Any) -> None:
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        tool = getattr(self._steps, name)
        if not callable(tool):
            return tool

        def given(value: Any) -> Any:
            if not inspect.isfunction(value):
                return value
            # With the signature of the function.
            return wraps(value)(lambda *its: _at_once(value(*its)))

        def call(*args: Any, **more: Any) -> Any:
            return _Done(tool(*map(given, args), **{key: given(value) for key, value in more.items()}))

        return call


def in_threads(
    handler: Handler, version: str = "1", handler_id: str = "h"
) -> Callable[[RunStage, Port], Any]:
    def run(steps: Any, payload: Any) -> Any:
        return _at_once(handler(Awaited(steps), payload))

    definition = Definition(handler_id, version, run)
    return lambda _, port: run_steps(definition, port, port.cancellation)


def in_tasks(handler: Handler, version: str = "1", handler_id: str = "h") -> Callable[[RunStage, Port], Any]:
    definition = Definition(handler_id, version, handler)
    return lambda _, port: asyncio.run(run_steps_async(definition, port, port.cancellation))


FACES: Any = [in_threads, in_tasks]
