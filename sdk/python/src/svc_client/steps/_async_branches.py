"""Branches of a handler, side by side as tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from ._branches import Branch, branch_here
from ._execution import Execution
from ._flow import Promise
from ._tasks import TaskDriver, in_branch, settle

Works: TypeAlias = Sequence[Callable[[], Any]]


class TaskBranches:
    def __init__(self, execution: Execution, driver: TaskDriver) -> None:
        self._execution = execution
        self._driver = driver
        self._tasks: set[asyncio.Future[Any]] = set()

    def end(self) -> None:
        """Ends the tasks that a handler has left alone."""
        for task in [*self._tasks]:
            task.cancel()

    async def joined(self, works: Works, concurrency: int) -> list[Any]:
        """Each in a branch of its own, at most `concurrency` at a time. Raises the first error."""
        scheduler = self._execution.scheduler
        parent = branch_here(self._execution.root)
        group, joined, results = object(), Promise(), [None] * len(works)
        lanes = left = min(concurrency, len(works))
        is_over = False
        places = iter(range(len(works)))

        def begin(at: int, *, is_prompt: bool) -> None:
            branch = Branch(parent, group, at)
            branch.is_prompt = is_prompt
            task = self._task(branch, works[at])
            task.add_done_callback(lambda task: ended(at, task))

        def ended(at: int, task: asyncio.Future[Any]) -> None:
            nonlocal left
            answer = Promise()
            settle(answer, task)
            try:
                results[at] = answer.result()
            except BaseException as error:
                joined.reject(error)
            following = None if joined.is_done else next(places, None)
            if following is not None:
                # A later item begins when an earlier one ends.
                begin(following, is_prompt=False)
                return
            left -= 1
            if not is_over:
                scheduler.branched(-1)
            if left == 0:
                joined.resolve()

        scheduler.branched(lanes - 1)
        remove = parent.signal.listen(joined.reject)
        try:
            for at in _first(places, lanes):
                begin(at, is_prompt=True)
            if lanes > 0:
                await self._driver.wait(joined)
                joined.result()
        finally:
            remove()
            is_over = True
            scheduler.branched(1 - left)
        return results

    async def race(self, name: str, works: Works) -> Any:
        """The first branch that ends wins; the others end with their operations. The journal keeps which one won, so
        that it wins in each execution."""
        if not works:
            raise TypeError("A race needs a branch.")
        execution, group, first = self._execution, object(), Promise()
        its = execution.enter("mark", name)
        known = execution.winner_of(its, len(works))
        branches = [Branch(its.branch, group, at) for at in range(len(works))]
        if known is not None:
            # The others are called too, for the count of their names, and begin nothing.
            for branch in _others(branches, known):
                branch.end()
        else:
            execution.scheduler.branched(len(works) - 1)
        remove = its.branch.signal.listen(first.reject)
        tasks = [self._task(branch, work) for branch, work in zip(branches, works, strict=True)]
        for at, task in enumerate(tasks):
            if known in (None, at):
                task.add_done_callback(lambda _, at=at: first.resolve(at))  # type: ignore[misc]
        try:
            await self._driver.wait(first)
        finally:
            remove()
            if known is None:
                execution.scheduler.branched(1 - len(works))
        winner = int(first.result())
        for branch, task in zip(branches, tasks, strict=True):
            if branch is not branches[winner]:
                branch.end()
                task.cancel()
        if known is None:
            kept = self._driver.start(execution.keep_winner(its, winner), lambda _: None)
            await kept
        return tasks[winner].result()

    def _task(self, branch: Branch, work: Callable[[], Any]) -> asyncio.Future[Any]:
        task = self._driver.loop.create_task(in_branch(branch, work))
        self._tasks.add(task)

        def ended(task: asyncio.Future[Any]) -> None:
            self._tasks.discard(task)
            if not task.cancelled():
                # A branch that has lost is not asked again.
                task.exception()

        task.add_done_callback(ended)
        return task


def _first(places: Iterator[int], count: int) -> list[int]:
    return [next(places) for _ in range(count)]


def _others(branches: Sequence[Branch], winner: int) -> list[Branch]:
    return [branch for at, branch in enumerate(branches) if at != winner]
