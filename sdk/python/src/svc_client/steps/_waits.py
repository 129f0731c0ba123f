"""Which of the queued waits the run makes next. A run has one wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from ._entries import Entry
from ._values import Json

WaitKind: TypeAlias = Literal["event", "timer", "run"]

EVENTS_MAX = 16
"""How many names one wait can have."""


@dataclass(frozen=True)
class WaitEnd:
    """An event, or the end of a child run. None in its place: the timer, or the end of the time."""

    payload: Json
    name: str | None = None
    """Of the event."""


@dataclass
class QueuedWait:
    kind: WaitKind
    name: str
    """Its name at the service."""
    due_at: int | None
    """The moment of the timer, or the deadline of the event, in milliseconds; None without one. A wait for a run looks
    again at this moment, where it cannot be the wait of the run."""
    open: Entry | None
    """The open entry of the wait, where the journal has none; None for a wait that needs none."""
    settled: Callable[[WaitEnd | None], Entry | None]
    """The entry of the outcome; None for a wait that needs none: what follows writes its own."""
    run_id: str | None = None
    names: tuple[str, ...] = ()
    """The events, any of which ends the wait."""
    is_planned: bool = False
    """The journal has `due_at`, so that it is the same in each execution."""


W = TypeVar("W", bound=QueuedWait)


@dataclass(frozen=True)
class WaitChoice(Generic[W]):
    waits: Sequence[W]
    """Several events, or one timer, or one run."""
    until: int | None


def choose_wait(queue: Sequence[W], names_max: int) -> WaitChoice[W]:
    """The first events of the queue, until the earliest moment of all. Without an event, the run that was looked at
    longest ago, until the earliest moment of the others. Otherwise the earliest timer. One wait is for at most
    `names_max` names, or for those of one operation."""
    earliest = earliest_of(queue)
    events: list[W] = []
    for wait in queue:
        names = {name for each in [*events, wait] for name in each.names}
        if wait.kind == "event" and (not events or len(names) <= names_max):
            events.append(wait)
    if events:
        return WaitChoice(events, None if earliest is None else earliest.due_at)
    run = earliest_of([wait for wait in queue if wait.kind == "run"])
    if run is not None:
        other = earliest_of([wait for wait in queue if wait is not run])
        return WaitChoice([run], None if other is None else other.due_at)
    return WaitChoice([earliest or queue[0]], None if earliest is None else earliest.due_at)


def earliest_of(queue: Sequence[W]) -> W | None:
    """The wait that is due first; None where none is ever due."""
    earliest: W | None = None
    for wait in queue:
        if wait.due_at is None:
            continue
        if earliest is None or earliest.due_at is None or wait.due_at < earliest.due_at:
            earliest = wait
    return earliest


# Clocks of a worker and a service differ by less.
_SKEW_MS = 60_000


def is_timeout(wait: QueuedWait, now: int) -> bool:
    """Whether a wait for an event that ended as timed out is the end of that event. An earlier execution may have
    waited only until the moment of another wait. Then the event has a planned moment, and it lies ahead."""
    return not wait.is_planned or (wait.due_at is not None and wait.due_at <= now + _SKEW_MS)
