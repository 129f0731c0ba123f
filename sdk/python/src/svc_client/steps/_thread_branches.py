"""Branches of a handler, side by side in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from ._branches import Branch, Place, branch_here, place
from ._execution import Execution
from ._flow import Promise
from ._threads import ThreadDriver

Works: TypeAlias = Sequence[Callable[[], Any]]

# Then the next branch begins although this one has not called an operation: it may wait for the next one.
_PROMPT_SECONDS = 1.0


class ThreadBranches:
    def __init__(self, execution: Execution, driver: ThreadDriver) -> None:
        self._execution = execution
        self._driver = driver

    def joined(self, works: Works, concurrency: int) -> list[Any]:
        """Each in a branch of its own, at most `concurrency` at a time. Raises the first error."""
        with self._driver.lock:
            parent = branch_here(self._execution.root)
            group, joined = object(), Promise()
            results: list[Any] = [None] * len(works)
            branches = [Branch(parent, group, at) for at in range(len(works))]
            lanes = left = min(concurrency, len(works))
            remove = parent.signal.listen(joined.reject)
            self._execution.scheduler.branched(lanes - 1)
            if lanes == 0:
                joined.resolve()
        started = lanes

        def next_one() -> int | None:
            nonlocal started
            with self._driver.lock:
                started += 1
                return None if joined.is_done or started > len(works) else started - 1

        def lane(at: int | None) -> None:
            while at is not None:
                results[at] = self._in_branch(branches[at], works[at])
                at = next_one()
                if at is not None:
                    # A later item begins when an earlier one ends.
                    branches[at].is_prompt = False

        def ended(answer: Promise) -> None:
            nonlocal left
            left -= 1
            if not is_over:
                self._execution.scheduler.branched(-1)
            try:
                answer.result()
            except BaseException as error:
                joined.reject(error)
            if left == 0:
                joined.resolve()

        is_over = False
        try:
            for at in range(lanes):
                self._launch(branches[at], partial(lane, at), ended)
            self._wait(parent, joined)
        finally:
            with self._driver.lock:
                remove()
                is_over = True
                self._execution.scheduler.branched(1 - left)
        joined.result()
        return results

    def race(self, name: str, works: Works) -> Any:
        """The first branch that ends wins; the others end with their operations. The journal keeps which one won, so
        that it wins in each execution."""
        if not works:
            raise TypeError("A race needs a branch.")
        execution, group, first = self._execution, object(), Promise()
        with self._driver.lock:
            its = execution.enter("mark", name)
            parent = its.branch
            known = execution.winner_of(its, len(works))
            branches = [Branch(parent, group, at) for at in range(len(works))]
            # The others are called too, for the count of their names, and begin nothing.
            _end_others(branches, known)
            remove = parent.signal.listen(first.reject)
            if known is None:
                execution.scheduler.branched(len(works) - 1)

        def ended(at: int, answer: Promise) -> None:
            if known in (None, at) and not first.is_done:
                # At once: a wait of another branch must not begin any more.
                _end_others(branches, at)
                first.resolve((at, answer))

        try:
            for at, work in enumerate(works):
                run = partial(self._in_branch, branches[at], work)
                self._launch(branches[at], run, partial(ended, at))
            self._wait(parent, first)
        finally:
            with self._driver.lock:
                remove()
                if known is None:
                    execution.scheduler.branched(1 - len(works))
        winner, answer = first.result()
        if known is None:
            self._driver.run(execution.keep_winner(its, winner))
        return answer.result()

    def _launch(self, branch: Branch, run: Callable[[], object], ended: Callable[[Promise], None]) -> None:
        """Returns when the branch has called its first operation: those of the next one come after it."""
        answer, gave_way = Promise(), Promise()
        branch.gave_way = gave_way.resolve
        answer.when_done(lambda: ended(answer))

        def carry_out() -> None:
            self._driver.settle(answer, run)
            with self._driver.lock:
                branch.give_way()

        self._driver.begin_in_context(carry_out)
        if not self._driver.wait(gave_way, _PROMPT_SECONDS):
            with self._driver.lock:
                branch.give_way()

    def _in_branch(self, branch: Branch, work: Callable[[], object]) -> object:
        token = place.set(Place(branch))
        try:
            return work()
        finally:
            place.reset(token)

    def _wait(self, parent: Branch, promise: Promise) -> None:
        """All branches have begun: the one around them gives way."""
        with self._driver.lock:
            parent.give_way()
        self._driver.wait(promise)


def _end_others(branches: Sequence[Branch], winner: int | None) -> None:
    for at, branch in enumerate(branches):
        if winner is not None and at != winner:
            branch.end()
