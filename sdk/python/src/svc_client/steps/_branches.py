"""Parallel branches of a handler. Each call finds its branch, however deep it is."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from ._faults import BranchEnded, quoted
from ._flow import Signal
from ._names import Caller, CallerBranch, OpenOperations


class Branch:
    """`group`: the same object for the branches side by side."""

    def __init__(self, parent: Branch | None = None, group: object = None, index: int = 0) -> None:
        self.open = OpenOperations()
        """Its operations that are open."""
        self.is_prompt = True
        self.gave_way: Callable[[], None] = lambda: None
        """Called when the branch is no longer prompt."""
        self.signal: Signal = Signal(None if parent is None else parent.signal)
        """Ends when another branch has won the race, or the handler must stop."""
        self._group = group
        self._index = index
        self._above: list[Branch] = [] if parent is None else [*parent._above, parent]

    @property
    def is_parallel(self) -> bool:
        """Whether it, or one around it, has others beside it."""
        return any(each._group is not None for each in (*self._above, self))

    @property
    def caller(self) -> Caller:
        """Where a call stands that is made now."""
        # The handler itself is in no branch.
        chain = [*self._above, self][1:]
        return Caller([CallerBranch(each._group, each._index, each.is_prompt) for each in chain], self.open)

    def give_way(self) -> None:
        self.is_prompt = False
        self.gave_way()

    def end(self, error: BaseException | None = None) -> None:
        self.signal.end(error or BranchEnded())
        self.signal.close()


@dataclass(frozen=True)
class Place:
    branch: Branch
    step: str | None = None
    """The key of the step whose work this is; None outside of steps."""


place: ContextVar[Place | None] = ContextVar("place", default=None)


def branch_here(root: Branch) -> Branch:
    """The branch of the caller. Raises within the work of a step: what it calls would not be found again."""
    here = place.get()
    if here is None:
        return root
    if here.step is not None:
        raise TypeError(f"The work of the step {quoted(here.step)} must not call another operation.")
    return here.branch
