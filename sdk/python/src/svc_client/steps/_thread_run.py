"""Executes a handler that is a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..worker._endings import RunCancelled
from ._faults import BranchEnded
from ._port import StepPort
from ._run import Definition, begun, concluded, failure_of, input_of, result_of
from ._threads import ThreadDriver
from ._tools import Steps
from ._values import Json

if TYPE_CHECKING:
    from ..worker._cancelled import RunCancellation
    from ..worker._context import RunContext


def run_steps(
    definition: Definition,
    port: StepPort,
    cancellation: RunCancellation,
    context: RunContext | None = None,
) -> Json:
    driver = ThreadDriver()
    execution = driver.run(begun(definition, port, driver))

    def stop() -> None:
        reason = cancellation.reason or "cancelled"
        with driver.lock:
            stopped = RunCancelled(reason)
            if reason == "cancelled":
                execution.cancel(stopped)
            else:
                execution.halt(stopped)

    try:
        with cancellation.interrupting(stop):
            if cancellation.cancelled:
                stop()
            try:
                result = definition.run(Steps(execution, driver, context), input_of(definition, port))
                return driver.run(concluded(execution, result_of(definition, result)))
            except BaseException as error:
                raised = driver.run(failure_of(execution, error))
                # Its own error keeps its traceback.
                raise raised  # noqa: B904
    finally:
        with driver.lock:
            execution.root.end(BranchEnded())
