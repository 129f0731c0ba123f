"""Flows, carried out by the tasks of an event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any, TypeVar, cast

from .._in_thread import in_thread
from ._branches import Branch, Place, place
from ._flow import Call, Flow, Promise, Request, Work
from ._steps import StepWork

T = TypeVar("T")


class TaskDriver:
    """The loop executes the code of flows; their calls block threads."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        # The loop itself keeps a task only while something else does.
        self._tasks: set[asyncio.Future[Any]] = set()

    async def run(self, flow: Flow[T]) -> T:
        """Carries out a flow."""
        value: Any = None
        error: BaseException | None = None
        while True:
            try:
                request = flow.send(value) if error is None else flow.throw(error)
            except StopIteration as end:
                answer: T = end.value
                return answer
            try:
                value, error = await self._perform(request), None
            except BaseException as raised:
                value, error = None, raised

    def start(self, flow: Flow[T], cancel: Callable[[BaseException], None]) -> asyncio.Future[T]:
        """Carries out an operation of the handler. A caller that is cancelled cancels its work, not its writes."""
        answer: asyncio.Future[T] = self.loop.create_future()
        task = self.keep(self.loop.create_task(self.run(flow)))

        def ended(task: asyncio.Future[T]) -> None:
            if answer.done() or task.cancelled():
                answer.cancel()
                return
            error = task.exception()
            if error is None:
                answer.set_result(task.result())
                return
            answer.set_exception(error)
            # A handler may leave an operation alone.
            answer.exception()

        def left(answer: asyncio.Future[T]) -> None:
            if answer.cancelled() and not task.done():
                cancel(asyncio.CancelledError())

        task.add_done_callback(ended)
        answer.add_done_callback(left)
        return answer

    def spawn(self, flow: Flow[None]) -> None:
        self.keep(self.loop.create_task(self.run(flow)))

    def keep(self, task: asyncio.Future[T]) -> asyncio.Future[T]:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def after(self, delay_ms: int, callback: Callable[[], None]) -> Callable[[], None]:
        return self.loop.call_later(delay_ms / 1_000, callback).cancel

    async def wait(self, promise: Promise) -> None:
        if promise.is_done:
            return
        done: asyncio.Future[None] = self.loop.create_future()
        promise.when_done(lambda: None if done.done() else done.set_result(None))
        await done

    async def _perform(self, request: Request) -> object:
        if isinstance(request, Promise):
            await self.wait(request)
            return request.result()
        if isinstance(request, Call):
            return await in_thread(request.make, "svc-steps")
        if isinstance(request, Work):
            return await self._worked(request)
        await asyncio.sleep(0)
        return None

    async def _worked(self, work: Work) -> object:
        answer = work.make()
        if not inspect.isawaitable(answer):
            return answer
        first = Promise()
        task = self.keep(cast("asyncio.Future[object]", asyncio.ensure_future(answer)))

        def ended(task: asyncio.Future[object]) -> None:
            settle(first, task)

        def late() -> None:
            with suppress(BaseException):
                work.late.result()
            task.cancel()
            _reject(first, work.late)

        task.add_done_callback(ended)
        work.late.when_done(late)
        await self.wait(first)
        return first.result()


def settle(promise: Promise, task: asyncio.Future[Any]) -> None:
    """Gives a promise the outcome of a task."""
    if task.cancelled():
        promise.reject(asyncio.CancelledError())
        return
    error = task.exception()
    if error is None:
        promise.resolve(task.result())
    else:
        promise.reject(error)


def _reject(promise: Promise, late: Promise) -> None:
    try:
        late.result()
    except BaseException as error:
        promise.reject(error)


def bound(
    work: Callable[[StepWork], object], its: StepWork, branch: Branch, key: str
) -> Callable[[], object]:
    """The work of a step in its place. A coroutine keeps it in a context of its own."""

    def make() -> object:
        token = place.set(Place(branch, key))
        try:
            answer = work(its)
        finally:
            place.reset(token)
        return _placed(answer, Place(branch, key)) if inspect.isawaitable(answer) else answer

    return make


async def _placed(answer: Awaitable[object], its: Place) -> object:
    place.set(its)
    return await answer


async def in_branch(branch: Branch, work: Callable[[], Any]) -> Any:
    """Work of a branch, in a task of its own. The branch is prompt until it gives way for the first time."""
    place.set(Place(branch))
    return await _Prompt(branch, _called(work))


async def _called(work: Callable[[], Any]) -> Any:
    answer = work()
    return await answer if inspect.isawaitable(answer) else answer


class _Prompt:
    def __init__(self, branch: Branch, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._branch = branch
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        flow = self._coroutine.__await__()
        try:
            given = next(flow)
        except StopIteration as end:
            return end.value
        finally:
            self._branch.is_prompt = False
        while True:
            error: BaseException | None = None
            value = None
            try:
                value = yield given
            except BaseException as raised:
                error = raised
            try:
                given = flow.send(value) if error is None else flow.throw(error)
            except StopIteration as end:
                return end.value
