"""Executes a handler with steps once, from its beginning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..worker._endings import RunCancelled, RunFailure
from ._branches import Branch
from ._execution import Execution
from ._faults import AmbiguousName, ChangedCode, StepValueError, Stop
from ._flow import Driver, Flow, call
from ._journal import Head, Journal
from ._port import StepPort
from ._undo import undo_all
from ._values import Json, json_copy
from ._writer import read_segments


@dataclass(frozen=True)
class Definition:
    """A handler, as its execution needs it."""

    id: str
    version: str
    run: Callable[..., Any]
    input: Callable[[Any], Any] | None = None
    output: Callable[[Any], Any] | None = None


def begun(definition: Definition, port: StepPort, driver: Driver) -> Flow[Execution]:
    segments = yield from read_segments(port)
    journal = Journal.of(segments, Head(definition.id, definition.version))
    return Execution(port, journal, driver)


def input_of(definition: Definition, port: StepPort) -> Any:
    return _checked(definition.input, port.run["payload"], "The payload")


def result_of(definition: Definition, result: object) -> Json:
    try:
        return json_copy(_checked(definition.output, result, "The result"))
    except StepValueError as error:
        raise Stop(f"The result cannot be kept: {error}") from error


def _checked(check: Callable[[Any], Any] | None, value: Any, what: str) -> Any:
    if check is None:
        return value
    try:
        return check(value)
    except RunFailure:
        raise
    except Exception as error:
        raise Stop(f"{what} does not fit: {error}") from error


def concluded(execution: Execution, result: Json) -> Flow[Json]:
    """The result of the run, after its handler has returned."""
    if execution.halted.is_done:
        execution.halted.result()
    if execution.ending is not None:
        raise execution.ending
    if execution.undos:
        execution.cancelling.check()
    steps = execution.unused()
    if steps:
        message = "The journal holds results of steps that the handler no longer has."
        details = {"steps": steps[:20], "count": len(steps)}
        yield from call(lambda: execution.port.record("steps.unused", message, details))
    return result


def failure_of(execution: Execution, error: BaseException) -> Flow[BaseException]:
    """The error of the attempt, after what steps did is undone if the run fails for good."""
    if execution.halted.is_done:
        try:
            execution.halted.result()
        except BaseException as halted:
            return halted
    cancelled = execution.cancelling.error
    if cancelled is not None:
        # Only a run with a cooperative cancellation is leased again, with time to undo.
        if execution.undos:
            execution.port.give_back()
        return cancelled
    if not isinstance(error, Exception) or isinstance(error, (ChangedCode, AmbiguousName)):
        return error
    ending = execution.ending or (error if isinstance(error, Stop) else None)
    if ending is None and execution.port.is_last_attempt:
        ending = _final_of(error)
    if ending is None:
        return error
    is_own = execution.ending is None and not isinstance(error, Stop)
    try:
        yield from undo_all(execution, ending, Branch(execution.root))
    except BaseException as stopped:
        return stopped
    if execution.is_cancelled:
        return RunCancelled("cancelled")
    return error if is_own else ending


def _final_of(error: BaseException) -> Stop:
    if isinstance(error, RunFailure):
        return Stop(error.message, failure_class=error.failure_class)
    return Stop("The handler failed.", failure_class="unknown")
