"""The result of a step: from the journal, or of its work."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Any, Literal

from .._cancellation import Cancellation
from ..worker._endings import RunCancelled, RunSuspended
from ._branches import Branch
from ._entries import Entry, entry_error, is_settled
from ._execution import Execution, Operation
from ._faults import StepFailed, StepTimeout, StepValueError, Stop, quoted
from ._flow import Flow, Promise, Work, call
from ._retries import DURABLE_MS, RetryRule, retry_after
from ._values import Json, json_copy
from ._waits import QueuedWait


@dataclass(frozen=True)
class StepWork:
    """The work of a step gets it."""

    idempotency_key: str
    """The same in each try and each execution: give it to services that take one."""
    attempt: int
    """1 in the first try."""
    cancellation: Cancellation
    """Set when the time of the step is over, and when the handler must stop."""


Run = Callable[[Callable[[StepWork], object], StepWork, Branch, str], Callable[[], object]]
"""Binds work to its place, as threads or an event loop do it."""


@dataclass(frozen=True)
class StepRules:
    """The rules of one step, checked when it is called."""

    retry: RetryRule
    timeout_ms: int | None
    undo: Callable[..., object] | None
    was: Sequence[str]
    bind: Run
    kind: Literal["step", "undo"] = "step"


def fitted(work: Callable[..., object], *given: object) -> Callable[[StepWork], object]:
    """The work with what it takes: it may leave out the last argument."""
    try:
        inspect.signature(work).bind(*given, None)
    except TypeError:
        return lambda _: work(*given)
    except ValueError:
        pass
    return lambda its: work(*given, its)


def step_result(
    execution: Execution, its: Operation, work: Callable[[StepWork], object], rules: StepRules
) -> Flow[Json]:
    found = its.found or _earlier_name_of(execution, rules.was)
    key = its.key
    if found is not None and "e" in found:
        raise StepFailed(key, found["e"])
    if found is not None and is_settled(found):
        value = yield from execution.value_of(found)
    else:
        value = yield from _tries(execution, replace(its, found=found), work, rules)
    if rules.undo is not None:
        own = key if found is None else str(found["k"])
        execution.undos[own] = _undo_of(execution, f"@undo:{key}", value, rules)
    return value


def _undo_of(execution: Execution, key: str, value: Json, rules: StepRules) -> Callable[[Branch], Flow[None]]:
    def undone(root: Branch) -> Flow[None]:
        before = execution.journal.find(key, "undo")
        if before is not None and is_settled(before):
            return
        # Its signal is that of the undoing: neither a race that is over nor the cancellation of the run ends it.
        its = Operation(key, before, root, root.signal, root.signal)
        work = fitted(rules.undo or (lambda: None), value)
        yield from _tries(execution, its, work, replace(rules, kind="undo"))

    return undone


def _earlier_name_of(execution: Execution, was: Sequence[str]) -> Entry | None:
    for key in was:
        found = execution.journal.find(key, "step")
        if found is not None:
            execution.use(key)
            return found
    return None


def _tries(
    execution: Execution, its: Operation, work: Callable[[StepWork], object], rules: StepRules
) -> Flow[Json]:
    """Works until a try succeeds. The last failure is kept, and raised as `StepFailed`."""
    found = its.found or {}
    tried = int(found.get("n", 0))
    if "at" in found:
        yield from _timer(execution, its, tried, int(found["at"]))
    while True:
        value, tried, due_at = yield from execution.scheduler.work(
            _try_once(execution, its, work, rules, tried + 1)
        )
        if due_at is None:
            return value
        if rules.kind == "step" and execution.ending is not None:
            raise execution.ending
        yield from _timer(execution, its, tried, due_at)


def _try_once(
    execution: Execution,
    its: Operation,
    work: Callable[[StepWork], object],
    rules: StepRules,
    tried: int,
) -> Flow[tuple[Json, int, int | None]]:
    """One try, with the pauses and further tries that pass under the lease: the value, or the moment of the next
    try."""
    entry: Entry = {"k": its.key, "t": rules.kind}
    while True:
        begun = execution.now()
        try:
            value = yield from _answer_of(execution, its, work, rules, tried)
        except BaseException as error:
            next_at = yield from _after_failure(execution, its, rules, tried, begun, error)
            if next_at is not None:
                return None, tried, next_at
            tried += 1
            continue
        now = execution.now()
        more = {"n": tried} if tried > 1 else {}
        kept = {**entry, **more, "ms": now - begun, "at": now}
        yield from execution.writer.put_value(kept, value)
        # The handler may change its value; the journal must not change with it.
        return json_copy(value), tried, None


def _after_failure(
    execution: Execution, its: Operation, rules: StepRules, tried: int, begun: int, error: BaseException
) -> Flow[int | None]:
    """The moment of the next try where the run waits for it; None after a pause."""
    if not isinstance(error, Exception) or isinstance(error, (RunCancelled, RunSuspended)):
        raise error
    its.signal.check()
    its.cancelling.check()
    entry: Entry = {"k": its.key, "t": rules.kind, "n": tried}
    final = isinstance(error, (Stop, StepValueError))
    follows = None if final else retry_after(rules.retry, tried)
    if follows is None:
        kept = entry_error(error)
        execution.port.log("warning", f"the step {quoted(its.key)} failed", error)
        now = execution.now()
        yield from execution.writer.put({**entry, "e": kept, "ms": now - begun, "at": now})
        raise StepFailed(its.key, kept) from error
    is_durable, delay_ms = follows
    if is_durable:
        due_at = execution.now() + delay_ms
        yield from execution.writer.put({**entry, "at": due_at})
        return due_at
    over = Event()
    removes = [signal.listen(lambda _: over.set()) for signal in (its.signal, its.cancelling)]
    yield from call(lambda: execution.port.pause(delay_ms / 1_000, over))
    for remove in removes:
        remove()
    its.signal.check()
    its.cancelling.check()
    return None


def _answer_of(
    execution: Execution,
    its: Operation,
    work: Callable[[StepWork], object],
    rules: StepRules,
    tried: int,
) -> Flow[Json]:
    cancellation = Cancellation()
    given = StepWork(f"{execution.port.run['id']}/{its.key}", tried, cancellation)
    late = Promise()

    def over(error: BaseException) -> None:
        late.reject(error)
        cancellation.cancel()

    removes = [its.signal.listen(over), its.cancelling.listen(over)]
    if rules.timeout_ms is not None:
        timeout = StepTimeout(its.key, rules.timeout_ms / 1_000)
        removes.append(execution.driver.after(rules.timeout_ms, lambda: over(timeout)))
    is_detached = rules.timeout_ms is not None or its.branch.is_parallel
    try:
        bound = rules.bind(work, given, its.branch, its.key)
        answer: Any = yield Work(bound, late, is_detached)
    finally:
        for remove in removes:
            remove()
    return None if rules.kind == "undo" else json_copy(answer)


def _timer(execution: Execution, its: Operation, tried: int, at: int) -> Flow[None]:
    """Parks the run until the next try. A run that is being cancelled cannot be parked, and has little time."""
    if execution.is_cancelled:
        left_ms = min(max(0, at - execution.now()), DURABLE_MS)
        yield from call(lambda: execution.port.pause(left_ms / 1_000, Event()))
        return
    wait = QueuedWait("timer", f"@retry:{its.key}:{tried}", at, None, lambda _: None)
    yield from execution.scheduler.wait(wait, its.signal)
