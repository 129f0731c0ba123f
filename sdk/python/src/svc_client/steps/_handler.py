"""Definitions of handlers with steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from .._coroutines import is_coroutine_function
from .._errors import SvcError
from ..worker._endings import identifier
from ._context_port import ContextPort
from ._retries import Retry
from ._run import Definition
from ._thread_run import run_steps

if TYPE_CHECKING:
    from ..worker._async_context import AsyncRunContext
    from ..worker._context import RunContext
    from ._async_tools import AsyncSteps
    from ._tools import Steps

Input = TypeVar("Input")
Output = TypeVar("Output")


class StepDefinition(Generic[Input, Output]):
    """A handler with steps, with the types of its input and its result. A worker takes it as a handler; `start` and
    `invoke` take it for its id and its types."""

    def __init__(self, definition: Definition, retry: Retry) -> None:
        self._definition = definition
        self.id: str = definition.id
        self.version: str = definition.version
        self.retry = retry
        self.svc_step_version: str = definition.version
        """Worker and delivery ask for the journal of its runs with their lease."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r}, version={self.version!r})"


class StepHandler(StepDefinition[Input, Output]):
    """A function: a `Worker` executes it."""

    def __call__(self, context: RunContext) -> object:
        return run_steps(self._definition, ContextPort(context), context.cancellation, context)


class AsyncStepHandler(StepDefinition[Input, Output]):
    """A coroutine function: an `AsyncWorker` executes it."""

    async def __call__(self, context: AsyncRunContext) -> object:
        from ._async_run import run_steps_async

        port = ContextPort(context._context)
        return await run_steps_async(self._definition, port, context.cancellation, context)


class _Decorator:
    def __init__(
        self,
        handler_id: str,
        version: str,
        retry: Retry,
        given: Callable[[Any], Any] | None,
        output: Callable[[Any], Any] | None,
    ) -> None:
        self._id = identifier(handler_id, "a handler id")
        self._version = identifier(version, "version")
        self._retry = retry
        self._input = given
        self._output = output

    @overload
    def __call__(
        self, run: Callable[[AsyncSteps, Input], Awaitable[Output]]
    ) -> AsyncStepHandler[Input, Output]: ...
    @overload
    def __call__(self, run: Callable[[Steps, Input], Output]) -> StepHandler[Input, Output]: ...
    def __call__(self, run: Callable[[Any, Any], Any]) -> StepDefinition[Any, Any]:
        if not callable(run):
            raise SvcError(f"The handler {self._id!r} is not a function.")
        definition = Definition(self._id, self._version, run, self._input, self._output)
        kind = AsyncStepHandler if is_coroutine_function(run) else StepHandler
        return cast("StepDefinition[Any, Any]", kind(definition, self._retry))


def handler(
    handler_id: str,
    *,
    version: str = "1",
    retry: Retry | None = None,
    input: Callable[[Any], Any] | None = None,  # noqa: A002
    output: Callable[[Any], Any] | None = None,
) -> _Decorator:
    """Defines a handler whose steps keep their results. It runs from its beginning after each wait, failure and crash;
    a step that has a result gives it, and does not work again. `version` is that of the code, which a run shows.
    `input` makes the input of the payload, such as `Order.model_validate`, and `output` the value that JSON can hold of
    the result; where one raises, the run fails with `validation`."""
    return _Decorator(handler_id, version, retry or Retry(), input, output)
