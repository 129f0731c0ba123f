"""Flows, carried out by threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

from ._branches import Branch, Place, place
from ._flow import Call, Flow, Promise, Request, Work
from ._steps import StepWork

T = TypeVar("T")


class ThreadDriver:
    """One thread at a time executes the code of flows, under the lock; their calls and work block side by side."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def run(self, flow: Flow[T]) -> T:
        """Carries out a flow, and blocks until its end."""
        value: Any = None
        error: BaseException | None = None
        while True:
            with self.lock:
                try:
                    request = flow.send(value) if error is None else flow.throw(error)
                except StopIteration as end:
                    answer: T = end.value
                    return answer
            try:
                value, error = self._perform(request), None
            except BaseException as raised:
                value, error = None, raised

    def wait(self, promise: Promise, seconds: float | None = None) -> bool:
        """Whether the promise is done in the time."""
        done = threading.Event()
        with self.lock:
            promise.when_done(done.set)
        return done.wait(seconds)

    def spawn(self, flow: Flow[None]) -> None:
        self.begin(lambda: self.run(flow))

    def begin(self, work: Callable[[], object]) -> None:
        """Daemon threads: work that is left alone must not keep the program alive."""
        threading.Thread(target=work, name="svc-steps", daemon=True).start()

    def after(self, delay_ms: int, callback: Callable[[], None]) -> Callable[[], None]:
        def fire() -> None:
            with self.lock:
                callback()

        timer = threading.Timer(min(delay_ms / 1_000, threading.TIMEOUT_MAX), fire)
        timer.daemon = True
        timer.start()
        return timer.cancel

    def _perform(self, request: Request) -> object:
        if isinstance(request, Promise):
            self.wait(request)
            return request.result()
        if isinstance(request, Call):
            return request.make()
        if isinstance(request, Work):
            return self._detached(request) if request.is_detached else request.make()
        return None

    def _detached(self, work: Work) -> object:
        """Another thread does it, so that this one can leave it alone."""
        first = Promise()
        with self.lock:
            work.late.when_done(lambda: self.settle(first, work.late.result))
        self.begin_in_context(lambda: self.settle(first, work.make))
        self.wait(first)
        return first.result()

    def begin_in_context(self, work: Callable[[], object]) -> None:
        """Its thread has the context variables of this one."""
        context = copy_context()
        self.begin(lambda: context.run(work))

    def settle(self, promise: Promise, make: Callable[[], object]) -> None:
        """Gives a promise the outcome of work."""
        try:
            value = make()
        except BaseException as error:
            with self.lock:
                promise.reject(error)
        else:
            with self.lock:
                promise.resolve(value)


def bound(
    work: Callable[[StepWork], object], its: StepWork, branch: Branch, key: str
) -> Callable[[], object]:
    """The work of a step in its place."""

    def make() -> object:
        token = place.set(Place(branch, key))
        try:
            return work(its)
        finally:
            place.reset(token)

    return make
