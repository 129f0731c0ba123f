"""Sleeps, events, marks, commits and child runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, cast

from ._entries import Entry, cut_message, cut_name, is_settled
from ._execution import Execution, Operation
from ._faults import StepFailed
from ._flow import Flow, call
from ._names import StepName, name_of
from ._port import ChildOutcome
from ._retries import Duration, duration_ms, rounded
from ._values import Json, from_wire, json_copy
from ._waits import EVENTS_MAX, QueuedWait, WaitEnd


def sleep(execution: Execution, name: str, time: Duration | datetime) -> Flow[None]:
    """Parks the run for a time, or until a moment. The first execution sets the moment."""
    moment = time if isinstance(time, datetime) else None
    if moment is not None and moment.tzinfo is None:
        raise TypeError("The moment of a sleep must be a datetime with an offset from UTC.")
    until = None if moment is None else rounded(moment.timestamp() * 1_000)
    ms = 0 if until is not None else duration_ms(time, "The time of a sleep")

    def perform(its: Operation) -> Flow[None]:
        found = its.found
        if found is not None and is_settled(found):
            return
        entry: Entry = {"k": its.key, "t": "sleep"}
        planned = execution.now() + ms if until is None else until
        due_at = int(found["at"]) if found and "at" in found else planned
        open_entry = {**entry, "at": due_at} if found is None else None
        wait = QueuedWait(
            "timer", its.key, due_at, open_entry, lambda _: {**entry, "v": None, "at": execution.now()}
        )
        yield from execution.scheduler.wait(wait, its.signal)

    return execution.operate(execution.enter("sleep", name), perform)


@dataclass(frozen=True)
class NamedEvent:
    """One of several events that a run has waited for."""

    name: str
    payload: Json


def wait_for_event(
    execution: Execution,
    name: str,
    timeout: Duration | None,
    event: str | None,
    names: Sequence[str] | None,
) -> Flow[Json]:
    """The payload of the event; a `NamedEvent` where it is one of several `names`; None after the timeout."""
    if names is not None and (event is not None or not 0 < len(names) <= EVENTS_MAX):
        raise TypeError(f"An operation waits for one event, or for 1 to {EVENTS_MAX} names.")
    of_names = tuple(dict.fromkeys(names)) if names is not None else (event or name,)
    ms = None if timeout is None else duration_ms(timeout, "timeout")

    def perform(its: Operation) -> Flow[Json]:
        found = its.found
        if found is not None and is_settled(found):
            return _event_of((yield from execution.value_of(found)))
        entry: Entry = {"k": its.key, "t": "event"}
        if found is None:
            due_at = None if ms is None else execution.now() + ms
        else:
            due_at = int(found["at"]) if "at" in found else None
        opened = {**entry, **({} if due_at is None else {"at": due_at})} if found is None else None

        def settled(end: WaitEnd | None) -> Entry:
            return {**entry, "v": None if end is None else kept(end), "at": execution.now()}

        wait = QueuedWait("event", of_names[0], due_at, opened, settled, None, of_names)
        end = yield from execution.scheduler.wait(wait, its.signal)
        return None if end is None else _event_of(kept(end))

    def kept(end: WaitEnd) -> Json:
        # A copy, so that a change by the handler reaches no journal.
        return {"payload": from_wire(end.payload), **({} if names is None else {"name": end.name})}

    return execution.operate(execution.enter("event", name), perform)


def _event_of(value: Json) -> Json:
    if value is None or "name" not in value:
        return None if value is None else value["payload"]
    return NamedEvent(str(value["name"]), value["payload"])


def since(execution: Execution, change: str) -> Flow[Json]:
    """A run that has results which the handler has not yet asked for was beyond this place before the change."""
    is_at = not execution.unused()
    return execution.mark(execution.enter("mark", f"@since:{change}"), lambda: is_at)


def mark_name(kind: str, name: StepName | None) -> str:
    return kind if name is None else f"{kind}:{name_of(name)}"


def commit(execution: Execution, name: str, tenant_id: str, request: Mapping[str, Any]) -> Flow[Any]:
    its = execution.enter("commit", name)
    keyed = {**request, "idempotencyKey": f"{execution.port.run['id']}/{its.key}"}

    def perform(its: Operation) -> Flow[Any]:
        return (yield from execution.scheduler.work(call(lambda: execution.port.commit(tenant_id, keyed))))

    return execution.operate(its, perform)


def start_child(
    execution: Execution, name: str, handler_id: str, given: object, cancel_with_parent: bool
) -> Flow[str]:
    """Starts a run, and gives its id. A repeat starts no second one."""
    child = _Child(handler_id, json_copy(given), cancel_with_parent)

    def perform(its: Operation) -> Flow[str]:
        if its.found is not None:
            return str((yield from execution.value_of(its.found)))
        return (yield from execution.scheduler.work(begin(its)))

    def begin(its: Operation) -> Flow[str]:
        run_id = yield from _started(execution, its, child)
        yield from execution.writer.put({"k": its.key, "t": "start", "v": run_id, "at": execution.now()})
        return run_id

    return execution.operate(execution.enter("start", name), perform)


@dataclass(frozen=True)
class _Child:
    handler_id: str
    payload: Json
    cancel_with_parent: bool


def _started(execution: Execution, its: Operation, child: _Child) -> Flow[str]:
    key = f"{execution.port.run['id']}/{its.key}"
    start = partial(execution.port.start_child, cancel_with_parent=child.cancel_with_parent)
    return (yield from call(lambda: start(child.handler_id, child.payload, key)))


_LOOK_MS_MIN = 5_000
_LOOK_MS_MAX = 600_000


def invoke_child(
    execution: Execution, name: str, handler_id: str, given: object, cancel_with_parent: bool
) -> Flow[Json]:
    """Starts a run, waits for its end and gives its result."""
    child = _Child(handler_id, json_copy(given), cancel_with_parent)

    def perform(its: Operation) -> Flow[Json]:
        found = its.found
        if found is not None and "e" in found:
            raise StepFailed(its.key, found["e"])
        if found is not None and is_settled(found):
            return (yield from execution.value_of(found))
        opened = found or (yield from execution.scheduler.work(begin(its)))
        outcome = yield from _ended(execution, its, str(opened.get("id", "")), int(opened.get("at", 0)))
        return (yield from execution.scheduler.work(keep(its, opened, outcome)))

    def begin(its: Operation) -> Flow[Entry]:
        run_id = yield from _started(execution, its, child)
        entry: Entry = {"k": its.key, "t": "child", "id": run_id, "at": execution.now()}
        yield from execution.writer.put(entry)
        return entry

    def keep(its: Operation, opened: Entry, outcome: ChildOutcome) -> Flow[Json]:
        entry: Entry = {"k": its.key, "t": "child", "id": opened.get("id", ""), "at": execution.now()}
        if outcome.status == "succeeded":
            result = from_wire(outcome.result)
            yield from execution.writer.put_value(entry, result)
            return json_copy(result)
        error = _error_of(handler_id, outcome)
        yield from execution.writer.put({**entry, "e": error})
        raise StepFailed(its.key, error)

    return execution.operate(execution.enter("child", name), perform)


def _ended(execution: Execution, its: Operation, run_id: str, started_at: int) -> Flow[ChildOutcome]:
    """The run waits for the child. Where other waits are queued, it looks at the child from time to time, the more
    seldom the older the child is."""
    while True:
        now = execution.now()
        due_at = now + min(max((now - started_at) // 2, _LOOK_MS_MIN), _LOOK_MS_MAX)
        wait = QueuedWait("run", f"@child:{its.key}", due_at, None, lambda _: None, run_id)
        end = yield from execution.scheduler.wait(wait, its.signal)
        if end is not None:
            return cast("ChildOutcome", end.payload)


def _error_of(handler_id: str, outcome: ChildOutcome) -> dict[str, str]:
    more = "" if outcome.error is None else f": {outcome.error}"
    message = cut_message(f"{handler_id} ended as {outcome.status}{more}")
    code = {} if outcome.failure_class is None else {"code": cut_name(outcome.failure_class)}
    return {"name": "RunFailed", "message": message, **code}
