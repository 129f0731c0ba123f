"""The operations of a coroutine handler with steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from . import _operations as operations
from ._async_branches import TaskBranches
from ._execution import Execution
from ._flow import Flow
from ._names import StepName, name_of
from ._operations import NamedEvent
from ._retries import Duration
from ._steps import StepWork
from ._tasks import TaskDriver, bound
from ._tools import check_concurrency, rules_of, step_of
from ._values import Json

if TYPE_CHECKING:
    from .._generated import models
    from ..worker._async_context import AsyncRunContext
    from ._handler import StepDefinition

T = TypeVar("T")
Item = TypeVar("Item")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
Input = TypeVar("Input")
Output = TypeVar("Output")


class AsyncSteps:
    """The tools of `Steps`, awaited. An operation begins when it is called, and may be awaited later, such as by
    `asyncio.gather`."""

    def __init__(self, execution: Execution, driver: TaskDriver, context: AsyncRunContext | None) -> None:
        self._execution = execution
        self._driver = driver
        self._branches = TaskBranches(execution, driver)
        self._context = context

    @property
    def run(self) -> models.ExecutionRun:
        """The run at the time of the lease."""
        return cast("models.ExecutionRun", self._execution.port.run)

    @property
    def version(self) -> str:
        """The version of the definition that began the run."""
        return self._execution.journal.head.version

    @property
    def context(self) -> AsyncRunContext:
        """The calls of the protocol beneath. Checkpoint keys that begin with `svc.step` are those of the journal."""
        return cast("AsyncRunContext", self._context)

    @overload
    def step(
        self,
        name: StepName,
        work: Callable[[StepWork], Awaitable[T]] | Callable[[], Awaitable[T]],
        *,
        attempts: int = 3,
        delay: Duration = 1.0,
        factor: float = 2.0,
        max_delay: Duration = 3_600.0,
        timeout: Duration | None = None,
        undo: Callable[[T], object] | Callable[[T, StepWork], object] | None = None,
        was: Sequence[str] = (),
    ) -> Awaitable[T]: ...
    @overload
    def step(
        self,
        name: StepName,
        work: Callable[[StepWork], T] | Callable[[], T],
        *,
        attempts: int = 3,
        delay: Duration = 1.0,
        factor: float = 2.0,
        max_delay: Duration = 3_600.0,
        timeout: Duration | None = None,
        undo: Callable[[T], object] | Callable[[T, StepWork], object] | None = None,
        was: Sequence[str] = (),
    ) -> Awaitable[T]: ...
    def step(
        self,
        name: StepName,
        work: Callable[..., Any],
        *,
        attempts: int = 3,
        delay: Duration = 1.0,
        factor: float = 2.0,
        max_delay: Duration = 3_600.0,
        timeout: Duration | None = None,
        undo: Callable[..., object] | None = None,
        was: Sequence[str] = (),
    ) -> Awaitable[Any]:
        """As `Steps.step`. Work that is a function blocks the event loop. After its `timeout` a coroutine is
        cancelled."""
        rules = rules_of(attempts, delay, factor, max_delay, timeout, undo, was, bound)
        return self._run(lambda execution: step_of(execution, name, work, rules))

    def commit(self, name: StepName, tenant_id: str, request: Mapping[str, Any]) -> Awaitable[Any]:
        """A transaction of the canonical store, exactly once. Its receipt keeps the result."""
        return self._run(lambda its: operations.commit(its, name_of(name), tenant_id, request))

    def sleep(self, name: StepName, time: Duration | datetime) -> Awaitable[None]:
        """Parks the run: for a time from the first execution on, or until a moment."""
        return self._run(lambda its: operations.sleep(its, name_of(name), time))

    @overload
    def wait_for_event(
        self, name: StepName, *, timeout: Duration | None = None, names: Sequence[str]
    ) -> Awaitable[NamedEvent | None]: ...
    @overload
    def wait_for_event(
        self, name: StepName, *, timeout: Duration | None = None, event: str | None = None
    ) -> Awaitable[Json]: ...
    def wait_for_event(
        self,
        name: StepName,
        *,
        timeout: Duration | None = None,
        event: str | None = None,
        names: Sequence[str] | None = None,
    ) -> Awaitable[Any]:
        """The payload of the event, or None after the timeout. `event`: its name, where the operation has another
        one. With several `names` any of these events ends the wait, and the result says which."""
        return self._run(lambda its: operations.wait_for_event(its, name_of(name), timeout, event, names))

    def invoke(
        self,
        name: StepName,
        handler: StepDefinition[Input, Output],
        given: Input,
        *,
        cancel_with_parent: bool = False,
    ) -> Awaitable[Output]:
        """Starts a run of another handler, waits for its end and gives its result. Raises `StepFailed` if it does not
        succeed. `cancel_with_parent`: a cancellation of this run cancels the child too."""
        return self._run(
            lambda its: operations.invoke_child(its, name_of(name), handler.id, given, cancel_with_parent)
        )

    def start(
        self,
        name: StepName,
        handler: StepDefinition[Input, Any],
        given: Input,
        *,
        cancel_with_parent: bool = False,
    ) -> Awaitable[str]:
        """Starts a run of another handler, and gives its id."""
        return self._run(
            lambda its: operations.start_child(its, name_of(name), handler.id, given, cancel_with_parent)
        )

    @overload
    async def all(
        self, one: Callable[[], Awaitable[A]], two: Callable[[], Awaitable[B]], /
    ) -> tuple[A, B]: ...
    @overload
    async def all(
        self,
        one: Callable[[], Awaitable[A]],
        two: Callable[[], Awaitable[B]],
        three: Callable[[], Awaitable[C]],
        /,
    ) -> tuple[A, B, C]: ...
    @overload
    async def all(self, *works: Callable[[], Awaitable[T]]) -> tuple[T, ...]: ...
    async def all(self, *works: Callable[[], Awaitable[Any]]) -> tuple[Any, ...]:
        """Branches side by side. Raises the first error; the others go on."""
        return tuple(await self._branches.joined(works, max(1, len(works))))

    async def race(self, *works: Callable[[], Awaitable[T]], name: StepName | None = None) -> T:
        """The result of the branch that ends first. The others are cancelled."""
        result: T = await self._branches.race(operations.mark_name("@race", name), works)
        return result

    async def map(
        self, items: Sequence[Item], work: Callable[[Item], Awaitable[T]], *, concurrency: int = 16
    ) -> list[T]:
        """A branch for each item, at most `concurrency` at a time. Name the steps by the item."""
        check_concurrency(concurrency)
        works = [lambda item=item: work(item) for item in items]
        return await self._branches.joined(works, concurrency)

    def now(self, name: StepName | None = None) -> Awaitable[int]:
        """The time in milliseconds since 1970 UTC, the same in each execution. Parallel branches give names."""
        return self._mark("@now", name, self._execution.now)

    def uuid(self, name: StepName | None = None) -> Awaitable[str]:
        """The same in each execution."""
        return self._mark("@uuid", name, self._execution.port.uuid)

    def random(self, name: StepName | None = None) -> Awaitable[float]:
        """From 0 to 1, the same in each execution."""
        return self._mark("@random", name, self._execution.port.random)

    def since(self, change: str) -> Awaitable[bool]:
        """Whether this run takes the changed way: not if it has results from beyond this place. The answer stays."""
        return self._run(lambda its: operations.since(its, name_of(change)))

    def log(self, message: str, *, warning: bool = False) -> None:
        """A line in the log of the worker."""
        self._execution.port.log("warning" if warning else "info", message)

    def _mark(self, kind: str, name: StepName | None, value: Callable[[], Json]) -> Awaitable[Any]:
        key = operations.mark_name(kind, name)
        return self._run(lambda its: its.mark(its.enter("mark", key), value))

    def _run(self, make: Callable[[Execution], Flow[Any]]) -> Awaitable[Any]:
        flow = make(self._execution)
        return self._driver.start(flow, self._execution.last_signal.end)
