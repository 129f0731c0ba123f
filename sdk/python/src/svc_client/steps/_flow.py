"""Operations as generators: the rules are written once, and threads or an event loop carry them out.

A flow gives way with a request alone. Its code between two requests runs undisturbed, as that of a coroutine does."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

T = TypeVar("T")


class Promise:
    """A value or an error that comes once."""

    def __init__(self) -> None:
        self.is_done = False
        self._value: object = None
        self._error: BaseException | None = None
        self._listeners: list[Callable[[], None]] = []

    def resolve(self, value: object = None) -> None:
        self._settle(value, None)

    def reject(self, error: BaseException) -> None:
        self._settle(None, error)

    def result(self) -> Any:
        """Of a promise that is done."""
        if self._error is not None:
            raise self._error
        return self._value

    def when_done(self, listener: Callable[[], None]) -> None:
        if self.is_done:
            listener()
        else:
            self._listeners.append(listener)

    def _settle(self, value: object, error: BaseException | None) -> None:
        if self.is_done:
            return
        self.is_done, self._value, self._error = True, value, error
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()


class Signal:
    """Ends operations with an error. A signal within another one ends with that."""

    def __init__(self, outer: Signal | None = None) -> None:
        self.error: BaseException | None = None
        self._listeners: dict[int, Callable[[BaseException], None]] = {}
        self._count = 0
        self.close: Callable[[], None] = lambda: None
        """Leaves the outer signal."""
        if outer is not None:
            self.close = outer.listen(self.end)

    def end(self, error: BaseException) -> None:
        if self.error is not None:
            return
        self.error = error
        listeners, self._listeners = self._listeners, {}
        for listener in listeners.values():
            listener(error)

    def check(self) -> None:
        if self.error is not None:
            raise self.error

    def listen(self, listener: Callable[[BaseException], None]) -> Callable[[], None]:
        """Calls the listener at the end, at once if it was before. The answer takes the listener away."""
        if self.error is not None:
            listener(self.error)
            return lambda: None
        self._count += 1
        number = self._count
        self._listeners[number] = listener

        def remove() -> None:
            self._listeners.pop(number, None)

        return remove


@dataclass(frozen=True)
class Call:
    """A call that blocks, such as one of the service."""

    make: Callable[[], object]


@dataclass(frozen=True)
class Work:
    """The work of a step: code of the handler."""

    make: Callable[[], object]
    late: Promise
    """Rejects when the work is not waited for any more."""
    is_detached: bool
    """Whether a thread can be left to its work."""


@dataclass(frozen=True)
class Turn:
    """Lets others go on that can."""


TURN = Turn()

Request: TypeAlias = "Promise | Call | Work | Turn"
Flow: TypeAlias = Generator[Request, Any, T]


class Driver(Protocol):
    """Carries out flows."""

    def spawn(self, flow: Flow[None]) -> None:
        """Beside all others. The flow raises nothing."""

    def after(self, delay_ms: int, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls back later, as a part of a flow. The answer takes the callback away."""
        ...


def call(make: Callable[[], T]) -> Flow[T]:
    """A call that blocks."""
    value: T = yield Call(make)
    return value
