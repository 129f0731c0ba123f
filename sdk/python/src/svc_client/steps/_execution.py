"""One execution of a handler with steps."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ..worker._endings import RunCancelled, RunSuspended
from ._branches import Branch, branch_here
from ._entries import Entry, cut_name, entry_error, is_settled
from ._faults import AmbiguousName, ChangedCode, Stop, quoted
from ._flow import Driver, Flow, Promise, Signal, call
from ._journal import Journal
from ._names import Occurrences
from ._retries import rounded
from ._scheduler import Scheduler
from ._values import Json, from_wire
from ._writer import JournalWriter

if TYPE_CHECKING:
    from ._port import StepPort

T = TypeVar("T")


@dataclass(frozen=True)
class Operation:
    """One operation of the handler: its key, its entry, and the branch that called it."""

    key: str
    found: Entry | None
    branch: Branch
    signal: Signal
    """Ends with the branch, or when the caller does not wait any more."""
    cancelling: Signal
    """Ends when the run is to be cancelled."""


class Execution:
    def __init__(self, port: StepPort, journal: Journal, driver: Driver) -> None:
        self.port = port
        self.journal = journal
        self.driver = driver
        self.writer = JournalWriter(journal, port)
        self.scheduler = Scheduler(port, self.writer, driver, self.look_at)
        self.root = Branch()
        self.undos: dict[str, Callable[[Branch], Flow[None]]] = {}
        """How to undo the steps that have a result, by their keys."""
        self.halted = Promise()
        """Rejects when the execution cannot go on, even if the handler catches the error."""
        self.cancelling = Signal()
        """Ends when the run is to be cancelled: the handler gets what it has, and begins nothing."""
        self.last_signal = self.root.signal
        """Of the operation that was called last."""
        self._names = Occurrences()
        self._used = {"@", "@ending"}
        self.is_cancelled = port.run.get("cancellationRequested") is True
        """The run is leased to undo its work."""
        self.ending = _ending_of(journal) or (Stop("The run was cancelled.") if self.is_cancelled else None)
        """Where the run undoes its work: how it ends."""

    def look_at(self, error: BaseException) -> None:
        """Halts the execution where the error is one that a handler cannot handle."""
        halts = (ChangedCode, AmbiguousName, RunSuspended)
        if isinstance(error, halts) or (isinstance(error, RunCancelled) and error.reason != "cancelled"):
            self.halt(error)

    def halt(self, error: BaseException) -> None:
        self.halted.reject(error)
        self.scheduler.stop(error)
        self.root.end(error)

    def cancel(self, error: BaseException) -> None:
        """A caller has requested the cancellation."""
        if self.is_cancelled:
            return
        self.cancelling.end(error)
        if self.ending is None:
            self.scheduler.drop(error)

    def enter(self, kind: str, name: str) -> Operation:
        """Counts a call. An operation whose result another system keeps has no entry, and so no kind of one."""
        branch = branch_here(self.root)
        try:
            key = self._names.next(name, branch.caller)
            found = self.journal.find(key, kind)
        except BaseException as error:
            self.look_at(error)
            raise
        self._used.add(key)
        return Operation(key, found, branch, Signal(branch.signal), self.cancelling)

    def operate(self, its: Operation, perform: Callable[[Operation], Flow[T]]) -> Flow[T]:
        """Performs an operation. Its call has counted at once, so that calls count in their order."""
        # At the call, not at the first request of the flow.
        self.last_signal = its.signal
        its.branch.open.begun()
        return self._operated(its, perform)

    def _operated(self, its: Operation, perform: Callable[[Operation], Flow[T]]) -> Flow[T]:
        try:
            its.signal.check()
            if its.found is None or not is_settled(its.found):
                if self.ending is not None:
                    raise self.ending
                self.cancelling.check()
            return (yield from perform(its))
        except BaseException as error:
            self.look_at(error)
            raise
        finally:
            its.branch.open.ended()
            its.signal.close()

    def value_of(self, entry: Entry) -> Flow[Json]:
        """The value of a settled entry without an error."""
        if "ref" not in entry:
            return copy.deepcopy(from_wire(entry.get("v")))
        ref = entry["ref"]
        value = yield from call(lambda: self.port.read(ref))
        if value is None:
            raise ChangedCode(f"The value of {quoted(entry['k'])} is missing")
        return from_wire(value)

    def mark(self, its: Operation, value: Callable[[], Json]) -> Flow[Json]:
        """A value that the journal keeps from its first call on."""

        def perform(its: Operation) -> Flow[Json]:
            if its.found is not None:
                return (yield from self.value_of(its.found))
            return (yield from self.scheduler.work(keep()))

        def keep() -> Flow[Json]:
            kept = value()
            yield from self.writer.put({"k": its.key, "t": "mark", "v": kept, "at": self.now()})
            return kept

        return self.operate(its, perform)

    def winner_of(self, its: Operation, count: int) -> int | None:
        """The branch that has won a race in an earlier execution."""
        kept = None if its.found is None else its.found.get("v")
        return kept if type(kept) is int and 0 <= kept < count else None

    def keep_winner(self, its: Operation, winner: int) -> Flow[None]:
        entry = {"k": its.key, "t": "mark", "v": winner, "at": self.now()}
        yield from self.scheduler.work(self.writer.put(entry))

    def now(self) -> int:
        """Whole milliseconds."""
        return rounded(self.port.now())

    def end(self, error: Stop) -> Flow[None]:
        """From now on the run only undoes: other branches begin nothing, and their steps that work come to their
        end."""
        is_known = self.journal.find("@ending", "mark") is not None
        self.ending = self.ending or error
        self.scheduler.drop(error)
        if not is_known:
            code = {} if error.failure_class == _ENDING_CLASS else {"code": cut_name(error.failure_class)}
            value = {"name": "Stop", **entry_error(error), **code}
            entry = {"k": "@ending", "t": "mark", "v": value, "at": self.now()}
            yield from self.scheduler.work(self.writer.put(entry))
        yield from self.scheduler.idle()

    def unused(self) -> list[str]:
        """Keys of the handler that it has not asked for in this execution."""
        return [key for key in self.journal.all_keys() if key not in self._used and not key.startswith("@")]

    def use(self, key: str) -> None:
        self._used.add(key)


# The failure class of an ending whose entry names none.
_ENDING_CLASS = "validation"


def _ending_of(journal: Journal) -> Stop | None:
    kept = journal.find("@ending", "mark")
    if kept is None:
        return None
    value = kept["v"]
    return Stop(str(value["message"]), failure_class=str(value.get("code", _ENDING_CLASS)))
