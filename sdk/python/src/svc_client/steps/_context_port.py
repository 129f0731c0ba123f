"""The calls of steps by the protocol of workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from threading import Event
from typing import TYPE_CHECKING, Any, cast

from .._errors import SvcError
from .._notices import own_use
from ..worker._moments import utc
from ._entries import Entry
from ._port import ChildOutcome, LogLevel, TakenEvent
from ._values import Json
from ._waits import EVENTS_MAX

if TYPE_CHECKING:
    from .._generated import models
    from ..worker._context import RunContext

_ITEMS_MAX = 8


class ContextPort:
    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._held = context._held
        self._world = context._world
        self.run = cast("Mapping[str, Any]", context.run)
        is_last = self._held.is_last_attempt
        self._is_known = self._held.knows_steps
        self.is_last_attempt = is_last if is_last is not None else self.run.get("maxAttempts") == 1
        self.names_max = EVENTS_MAX if self._is_known else 1
        given = self._held.checkpoints
        found = [] if given is None else given["found"]
        absent = [] if given is None else given["absent"]
        self.given: Mapping[str, Json] = {
            **dict.fromkeys(absent),
            **{each["key"]: each["content"] for each in found},
        }

    def give_back(self) -> None:
        self._held.abandon("stopping")

    def now(self) -> float:
        return self._world.now() * 1_000

    def random(self) -> float:
        return self._world.random()

    def uuid(self) -> str:
        four = [f"{int(self._world.random() * 65_536):04x}" for _ in range(8)]
        version, variant = f"4{four[3][1:]}", f"{'89ab'[int(four[4][0], 16) % 4]}{four[4][1:]}"
        return f"{four[0]}{four[1]}-{four[2]}-{version}-{variant}-{four[5]}{four[6]}{four[7]}"

    def pause(self, seconds: float, until: Event) -> None:
        self._world.sleep(seconds, until)

    def read(self, key: str) -> Json:
        found = self._context.read_checkpoint(key)
        return None if found is None else found["content"]

    def write(self, key: str, content: Json, metadata: Mapping[str, str], news: Sequence[Entry]) -> None:
        event = event_of(news) if self._is_known else None
        self._context.checkpoint(key, content, metadata=metadata, event=event)

    def timer(self, name: str, fire_at: int) -> None:
        self._context.wait_for_timer(name, at=_moment(fire_at))

    def event(self, names: Sequence[str], until: int | None) -> TakenEvent | None:
        request: dict[str, Any] = {"kind": "external_event", "name": names[0]}
        if len(names) > 1:
            request["names"] = [*names]
        request["timeoutAtUtc"] = None if until is None else _text(until)
        outcome = self._context._wait(request)
        event = outcome["event"]
        return None if event is None else TakenEvent(event["name"], event["payload"])

    def start_child(self, handler_id: str, payload: Json, key: str, *, cancel_with_parent: bool) -> str:
        held, client = self._held, self._context._client
        child: models.ExecutionChildRunRequest = {"handlerId": handler_id, "payload": payload}
        if cancel_with_parent:
            child["cancelWithParent"] = True
        request: models.ExecutionExternalWorkerChildRequest = {
            **held.proof(),
            "writeId": key,
            "child": child,
        }
        with own_use():
            answer = self._context._repeated(
                lambda options: client.start_external_execution_lease_child(request, options=options)
            )
        return answer["runId"]

    def child(self, run_id: str, name: str, until: int | None) -> ChildOutcome | None:
        moment = None if until is None else _text(until)
        outcome = self._context._wait(
            {"kind": "run", "name": name, "runId": run_id, "timeoutAtUtc": moment}
        ).get("run")
        if outcome is None:
            return None
        if outcome["resultRemoved"]:
            return ChildOutcome("removed", None, None, "its result is no longer kept")
        status, result = outcome["status"], outcome["result"]
        return ChildOutcome(status, result, outcome["failureClass"], outcome["error"])

    def commit(self, tenant_id: str, request: Mapping[str, Any]) -> Any:
        client = self._context._client
        options: Any = {"cancellation": self._held.given_up}
        return client.commit_canonical_transaction(tenant_id, cast("Any", request), options=options)

    def record(self, event_type: str, message: str, details: Mapping[str, object]) -> None:
        self._context.record_event(message, event_type=event_type, severity="warning", details=details)

    def log(self, level: LogLevel, message: str, error: BaseException | None = None) -> None:
        self._context._log.say(level, message, run=self._held.run, error=error)


def event_of(news: Sequence[Entry]) -> models.ExecutionCheckpointEventWrite | None:
    """The event of a checkpoint with these new results, for the history of the run. Its details have at most 4 KiB."""
    shown = [each for each in news if each["t"] == "undo" or not (each["t"] == "mark" or each["k"][0] == "@")]
    steps = [_line_of(entry) for entry in shown[:_ITEMS_MAX]]
    if not steps:
        return None
    details = steps[0] if len(steps) == 1 else {"steps": steps, "count": len(news)}
    return {
        "type": "step.failed" if any("error" in step for step in steps) else "step.completed",
        "message": ", ".join(str(step["name"]) for step in steps),
        "details": details,
    }


def _line_of(entry: Entry) -> dict[str, object]:
    line = {"name": entry["k"].removeprefix("@undo:"), "kind": entry["t"], "attempt": entry.get("n", 1)}
    duration = {"ms": entry["ms"]} if "ms" in entry else {}
    return {**line, **duration, **({"error": entry["e"]["name"]} if "e" in entry else {})}


def _moment(ms: int) -> datetime:
    try:
        return datetime.fromtimestamp(ms / 1_000, timezone.utc)
    except (ValueError, OverflowError, OSError):
        raise SvcError("The moment of a wait is out of range.") from None


def _text(ms: int) -> str:
    return utc(_moment(ms))
