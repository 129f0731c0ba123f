"""Steps work side by side; waits are made one at a time, and only while no step works and nothing is written: a wait
that parks the run takes the lease away."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ._flow import TURN, Driver, Flow, Promise, Signal, call
from ._retries import rounded
from ._waits import QueuedWait, WaitEnd, choose_wait, earliest_of, is_timeout

if TYPE_CHECKING:
    from ._port import StepPort
    from ._writer import JournalWriter

T = TypeVar("T")

# Turns of an event loop in which a branch goes from one operation to its next.
_TURNS = 32
# Then the run waits although a branch is elsewhere: it may wait for another branch.
_QUIET_MS = 1_000
# A run whose turn has come is looked at for so long, where other waits are queued.
_LOOK_MS = 5_000


@dataclass
class _Queued(QueuedWait):
    promise: Promise = field(default_factory=Promise)


class Scheduler:
    def __init__(
        self, port: StepPort, writer: JournalWriter, driver: Driver, failed: Callable[[BaseException], None]
    ) -> None:
        """`failed` is given the error of each wait."""
        self._failed = failed
        self._port = port
        self._writer = writer
        self._driver = driver
        self._queue: list[_Queued] = []
        self._held: list[Promise] = []
        self._idle: list[Promise] = []
        self._working = 0
        self._branches = 1
        self._is_waiting = False
        self._considered = 0
        self._cancel_quiet: Callable[[], None] = lambda: None
        self._over: BaseException | None = None

    def work(self, flow: Flow[T]) -> Flow[T]:
        """Work of a step, or a write to the journal."""
        while self._is_waiting:
            go = Promise()
            self._held.append(go)
            yield go
        self._check()
        self._working += 1
        # A wait that was about to begin begins no more.
        self._consider()
        try:
            return (yield from flow)
        finally:
            self._working -= 1
            self._consider()

    def wait(self, wait: QueuedWait, signal: Signal) -> Flow[WaitEnd | None]:
        """Waits in the queue. A branch that ends leaves it."""
        self._check()
        signal.check()
        queued = _Queued(**wait.__dict__)
        queued.is_planned = queued.open is None
        self._queue.append(queued)

        def leave(error: BaseException) -> None:
            if self._remove(queued):
                queued.promise.reject(error)

        remove = signal.listen(leave)
        self._consider()
        try:
            end: WaitEnd | None = yield queued.promise
            return end
        finally:
            remove()

    def branched(self, change: int) -> None:
        """Counts the branches, so that a wait does not begin before each has come to its next operation."""
        self._branches += change
        self._consider()

    def idle(self) -> Flow[None]:
        """Ends when no step works."""
        while self._working > 0 or self._is_waiting:
            rest = Promise()
            self._idle.append(rest)
            yield rest

    def stop(self, error: BaseException) -> None:
        """Every operation from now on raises the error."""
        self._over = self._over or error
        self._cancel_quiet()
        self.drop(error)
        for go in self._taken(self._held):
            go.resolve()

    def drop(self, error: BaseException) -> None:
        """The waits of the queue end with the error; others may follow."""
        queue, self._queue = self._queue, []
        for wait in queue:
            wait.promise.reject(error)

    def _check(self) -> None:
        if self._over is not None:
            raise self._over

    def _remove(self, wait: _Queued) -> bool:
        with suppress(ValueError):
            self._queue.remove(wait)
            return True
        return False

    @staticmethod
    def _taken(promises: list[Promise]) -> list[Promise]:
        taken = [*promises]
        promises.clear()
        return taken

    def _consider(self) -> None:
        self._considered += 1
        self._cancel_quiet()
        if self._working > 0 or self._is_waiting:
            return
        for rest in self._taken(self._idle):
            rest.resolve()
        if self._queue and self._over is None:
            self._driver.spawn(self._when_quiet(self._considered))

    def _when_quiet(self, considered: int) -> Flow[None]:
        for _ in range(_TURNS):
            if self._considered != considered:
                return
            yield TURN
        if self._considered != considered:
            return
        if len(self._queue) >= self._branches:
            yield from self._begin()
            return

        def quiet() -> None:
            if self._considered == considered:
                self._driver.spawn(self._begin())

        self._cancel_quiet = self._driver.after(_QUIET_MS, quiet)

    def _begin(self) -> Flow[None]:
        if self._working > 0 or self._is_waiting or not self._queue:
            return
        self._is_waiting = True
        first = self._queue[0]
        try:
            yield from self._wait_once()
        except BaseException as error:
            self._failed(error)
            self._remove(first)
            first.promise.reject(error)
        finally:
            self._is_waiting = False
            for go in self._taken(self._held):
                go.resolve()
            self._consider()

    def _wait_once(self) -> Flow[None]:
        if len(self._queue) > 1:
            yield from self._plan()
        for again in range(2):
            queue = [*self._queue]
            if not queue:
                return
            choice = choose_wait(queue, self._port.names_max)
            first = choice.waits[0]
            if first.kind != "event":
                yield from self._native(first, choice.until)
                return
            names = list(dict.fromkeys(name for wait in choice.waits for name in wait.names))
            taken = yield from call(partial(self._port.event, names, choice.until))
            if taken is not None:
                of_name = [wait for wait in choice.waits if taken.name in wait.names]
                yield from self._settle((of_name or [first])[0], WaitEnd(taken.payload, taken.name))
                return
            due = earliest_of(queue) or first
            # Accept the second answer: the clocks may differ by much.
            if due.kind == "event" and again == 0 and not is_timeout(due, self._now()):
                continue
            if due in choice.waits:
                yield from self._settle(due, None)
            else:
                yield from self._native(due, self._now() + _LOOK_MS)
            return

    def _plan(self) -> Flow[None]:
        """Writes the moments of all waits in one write."""
        entries = [wait.open for wait in self._queue if not wait.is_planned and wait.open is not None]
        for wait in self._queue:
            wait.is_planned = True
        if entries:
            yield from self._writer.put_all(entries)

    def _native(self, wait: _Queued, until: int | None) -> Flow[None]:
        name, due_at = wait.name, wait.due_at
        if wait.kind == "run":
            run_id = wait.run_id or ""
            outcome = yield from call(lambda: self._port.child(run_id, name, until))
            yield from self._settle(wait, None if outcome is None else WaitEnd(outcome))
        elif wait.kind == "event":
            taken = yield from call(lambda: self._port.event(wait.names, due_at))
            yield from self._settle(wait, None if taken is None else WaitEnd(taken.payload, taken.name))
        else:
            fire_at = self._now() if due_at is None else due_at
            yield from call(lambda: self._port.timer(name, fire_at))
            yield from self._settle(wait, None)

    def _settle(self, wait: _Queued, end: WaitEnd | None) -> Flow[None]:
        """The first write after an outcome holds its entry: until then the service gives it again."""
        is_left = self._remove(wait)
        try:
            entry = wait.settled(end)
            if entry is not None:
                yield from self._writer.put(entry)
            if is_left:
                wait.promise.resolve(end)
        except BaseException as error:
            wait.promise.reject(error)

    def _now(self) -> int:
        return rounded(self._port.now())
