"""Executes a handler that is a coroutine function."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ..worker._endings import RunCancelled
from ._async_tools import AsyncSteps
from ._branches import Place, place
from ._execution import Execution
from ._faults import BranchEnded
from ._port import StepPort
from ._run import Definition, begun, concluded, failure_of, input_of, result_of
from ._tasks import TaskDriver
from ._values import Json

if TYPE_CHECKING:
    from ..worker._async_context import AsyncRunContext
    from ..worker._cancelled import RunCancellation


async def run_steps_async(
    definition: Definition,
    port: StepPort,
    cancellation: RunCancellation,
    context: AsyncRunContext | None = None,
) -> Json:
    driver = TaskDriver()
    execution = await driver.run(begun(definition, port, driver))
    steps = AsyncSteps(execution, driver, context)

    def stop() -> None:
        reason = cancellation.reason or "cancelled"
        stopped = RunCancelled(reason)
        if reason == "cancelled":
            execution.cancel(stopped)
        else:
            execution.halt(stopped)

    def stop_soon() -> None:
        # Another thread says so, and the loop may have ended.
        with suppress(RuntimeError):
            driver.loop.call_soon_threadsafe(stop)

    try:
        with cancellation.interrupting(stop_soon):
            if cancellation.cancelled:
                stop()
            try:
                result = await _handled(definition, execution, steps, cancellation, stop)
                return await driver.run(concluded(execution, result_of(definition, result)))
            except BaseException as error:
                raised = await driver.run(failure_of(execution, error))
                # Its own error keeps its traceback.
                raise raised  # noqa: B904
    finally:
        execution.root.end(BranchEnded())
        steps._branches.end()


async def _handled(
    definition: Definition,
    execution: Execution,
    steps: AsyncSteps,
    cancellation: RunCancellation,
    stop: Callable[[], None],
) -> object:
    """The result of the handler, unless the execution cannot go on."""

    async def handle() -> object:
        place.set(Place(execution.root))
        return await definition.run(steps, input_of(definition, execution.port))

    task = asyncio.ensure_future(handle())
    over = asyncio.get_running_loop().create_future()
    execution.halted.when_done(lambda: None if over.done() else over.set_result(None))
    try:
        try:
            await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # The worker cancels once; the handler may still end its work in a run that is to be cancelled.
            task.cancel()
            if not cancellation.cancelled:
                raise
            stop()
            await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_forget)
    if not task.done():
        execution.halted.result()
    return task.result()


def _forget(task: asyncio.Future[object]) -> None:
    if not task.cancelled():
        task.exception()
