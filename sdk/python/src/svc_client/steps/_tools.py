"""The operations of a handler with steps, in threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from .._coroutines import is_coroutine_function
from . import _operations as operations
from ._branches import branch_here
from ._execution import Execution
from ._flow import Flow
from ._names import StepName, name_of
from ._operations import NamedEvent
from ._retries import Duration, duration_ms, retry_rule
from ._steps import StepRules, StepWork, fitted, step_result
from ._thread_branches import ThreadBranches
from ._threads import ThreadDriver, bound
from ._values import Json

if TYPE_CHECKING:
    from .._generated import models
    from ..worker._context import RunContext
    from ._handler import StepDefinition

T = TypeVar("T")
Item = TypeVar("Item")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
Input = TypeVar("Input")
Output = TypeVar("Output")


class Steps:
    """Results are found by their names in the next execution, in any order. The threads of `all`, `race` and `map`
    share it; other threads of the handler call no operation."""

    def __init__(self, execution: Execution, driver: ThreadDriver, context: RunContext | None) -> None:
        self._execution = execution
        self._driver = driver
        self._branches = ThreadBranches(execution, driver)
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
    def context(self) -> RunContext:
        """The calls of the protocol beneath. Checkpoint keys that begin with `svc.step` are those of the journal."""
        return cast("RunContext", self._context)

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
    ) -> T:
        """Works once, and keeps the result. The next execution gets the result, and does not work again. After a
        failure it is tried again, `attempts` times in all, first after `delay`, which grows by `factor` to at most
        `max_delay`. `timeout`: of one try; its thread is then left alone. `undo` is given the result when the run
        fails for good. `was`: earlier names of the step."""
        if is_coroutine_function(work) or is_coroutine_function(undo):
            raise TypeError("The work of a step is a coroutine function: write the handler as one.")
        rules = rules_of(attempts, delay, factor, max_delay, timeout, undo, was, bound)
        result: T = self._run(lambda execution: step_of(execution, name, work, rules))
        return result

    def commit(self, name: StepName, tenant_id: str, request: Mapping[str, Any]) -> Any:
        """A transaction of the canonical store, exactly once. Its receipt keeps the result."""
        return self._run(lambda its: operations.commit(its, name_of(name), tenant_id, request))

    def sleep(self, name: StepName, time: Duration | datetime) -> None:
        """Parks the run: for a time from the first execution on, or until a moment."""
        self._run(lambda its: operations.sleep(its, name_of(name), time))

    @overload
    def wait_for_event(
        self, name: StepName, *, timeout: Duration | None = None, names: Sequence[str]
    ) -> NamedEvent | None: ...
    @overload
    def wait_for_event(
        self, name: StepName, *, timeout: Duration | None = None, event: str | None = None
    ) -> Json: ...
    def wait_for_event(
        self,
        name: StepName,
        *,
        timeout: Duration | None = None,
        event: str | None = None,
        names: Sequence[str] | None = None,
    ) -> Any:
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
    ) -> Output:
        """Starts a run of another handler, waits for its end and gives its result. Raises `StepFailed` if it does not
        succeed. `cancel_with_parent`: a cancellation of this run cancels the child too."""
        flow = self._run(
            lambda its: operations.invoke_child(its, name_of(name), handler.id, given, cancel_with_parent)
        )
        return cast("Output", flow)

    def start(
        self,
        name: StepName,
        handler: StepDefinition[Input, Any],
        given: Input,
        *,
        cancel_with_parent: bool = False,
    ) -> str:
        """Starts a run of another handler, and gives its id."""
        return self._run(
            lambda its: operations.start_child(its, name_of(name), handler.id, given, cancel_with_parent)
        )

    @overload
    def all(self, one: Callable[[], A], two: Callable[[], B], /) -> tuple[A, B]: ...
    @overload
    def all(
        self, one: Callable[[], A], two: Callable[[], B], three: Callable[[], C], /
    ) -> tuple[A, B, C]: ...
    @overload
    def all(self, *works: Callable[[], T]) -> tuple[T, ...]: ...
    def all(self, *works: Callable[[], Any]) -> tuple[Any, ...]:
        """Branches side by side, each in a thread. Raises the first error."""
        return tuple(self._branches.joined(works, max(1, len(works))))

    def race(self, *works: Callable[[], T], name: StepName | None = None) -> T:
        """The result of the branch that ends first. The others end."""
        result: T = self._branches.race(operations.mark_name("@race", name), works)
        return result

    def map(self, items: Sequence[Item], work: Callable[[Item], T], *, concurrency: int = 16) -> list[T]:
        """A branch for each item, at most `concurrency` at a time. Name the steps by the item."""
        check_concurrency(concurrency)
        works = [lambda item=item: work(item) for item in items]
        return self._branches.joined(works, concurrency)

    def now(self, name: StepName | None = None) -> int:
        """The time in milliseconds since 1970 UTC, the same in each execution. Parallel branches give names."""
        return int(self._mark("@now", name, self._execution.now))

    def uuid(self, name: StepName | None = None) -> str:
        """The same in each execution."""
        return str(self._mark("@uuid", name, self._execution.port.uuid))

    def random(self, name: StepName | None = None) -> float:
        """From 0 to 1, the same in each execution."""
        return float(self._mark("@random", name, self._execution.port.random))

    def since(self, change: str) -> bool:
        """Whether this run takes the changed way: not if it has results from beyond this place. The answer stays."""
        return bool(self._run(lambda its: operations.since(its, name_of(change))))

    def log(self, message: str, *, warning: bool = False) -> None:
        """A line in the log of the worker."""
        self._execution.port.log("warning" if warning else "info", message)

    def _mark(self, kind: str, name: StepName | None, value: Callable[[], Json]) -> Json:
        key = operations.mark_name(kind, name)
        return self._run(lambda its: its.mark(its.enter("mark", key), value))

    def _run(self, make: Callable[[Execution], Flow[T]]) -> T:
        with self._driver.lock:
            branch = branch_here(self._execution.root)
            try:
                flow = make(self._execution)
            finally:
                branch.give_way()
        return self._driver.run(flow)


def rules_of(
    attempts: int,
    delay: Duration,
    factor: float,
    max_delay: Duration,
    timeout: Duration | None,
    undo: Callable[..., object] | None,
    was: Sequence[str],
    bind: Any,
) -> StepRules:
    timeout_ms = None if timeout is None else duration_ms(timeout, "timeout")
    return StepRules(retry_rule(attempts, delay, factor, max_delay), timeout_ms, undo, was, bind)


def step_of(execution: Execution, name: StepName, work: Callable[..., object], rules: StepRules) -> Flow[Any]:
    its = execution.enter("step", name_of(name))
    return execution.operate(its, lambda its: step_result(execution, its, fitted(work), rules))


def check_concurrency(concurrency: object) -> None:
    if type(concurrency) is not int or concurrency < 1:
        raise TypeError("concurrency must be a whole number from 1.")
