"""A model of the service that keeps the rules of one run: leases, checkpoints, waits and kept outcomes.
Time is virtual."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from step_vectors import STARTS_AT

from svc_client.steps._port import ChildOutcome, TakenEvent
from svc_client.steps._values import text_of
from svc_client.worker import RunCancellation, RunCancelled, RunSuspended

EXECUTIONS_MAX = 300


@dataclass
class Raised:
    """An event that is raised at a moment after the start."""

    at: int
    name: str
    payload: Any = None


@dataclass
class Crash:
    call: int
    """From 1."""
    when: str
    """`before` or `after` the service has it."""


@dataclass
class Wait:
    kind: str
    names: tuple[str, ...]
    due_at: int | None
    run_id: str | None = None


@dataclass
class Options:
    payload: Any = None
    events: Sequence[Raised] = ()
    replies: Mapping[str, tuple[int, Any]] = field(default_factory=dict[str, tuple[int, Any]])
    """Events that are raised some time after the run begins to wait for their name."""
    crash: Crash | None = None
    max_attempts: int = 3
    children: Mapping[str, tuple[int, ChildOutcome]] = field(
        default_factory=dict[str, tuple[int, ChildOutcome]]
    )
    """When the runs of a handler end, and how."""
    uuids: Sequence[str] = ()
    randoms: Sequence[float] = ()
    names_max: int = 16
    first: bool = False
    """The start gave checkpoints to the run."""
    with_lease: bool = False
    """The segments come with the lease."""
    cancel_at: int | None = None
    """The call during which the run is cancelled."""


class RunStage:
    def __init__(self, options: Options | None = None, **more: Any) -> None:
        self.options = options or Options(**more)
        self.at = STARTS_AT
        self.checkpoints: dict[str, str] = {}
        self.calls: list[str] = []
        self.news: list[str] = []
        self.records: list[Any] = []
        self.started: dict[str, tuple[str, int, str]] = {}
        self.commits: dict[str, Any] = {}
        self.faults: list[str] = []
        self.attempt = 0
        self.cancelled = False
        self.given_back = 0
        self.working = 0
        self._in_flight: list[str] = []
        self._left = [*self.options.events]
        self._inbox: list[Raised] = []
        self._outcomes: list[tuple[str, tuple[str, ...], TakenEvent | None]] = []
        self._taken: tuple[str, tuple[str, ...], TakenEvent | None] | None = None
        self._wait: Wait | None = None
        self._lock = threading.RLock()
        self._uuids, self._randoms = [*self.options.uuids], [*self.options.randoms]

    @property
    def segments(self) -> list[str]:
        kept = [text for key, text in self.checkpoints.items() if key.startswith("svc.steps.")]
        return [text_of(json.loads(text)) for text in kept]

    @property
    def entries(self) -> dict[str, Any]:
        return {entry["k"]: entry for text in self.segments for entry in json.loads(text)}

    def drive(self, run: Callable[[RunStage, Port], Any]) -> Any:
        """Executes the handler until the run ends: its result, or its error."""
        for _ in range(EXECUTIONS_MAX):
            self.attempt += 1
            port = Port(self)
            try:
                return run(self, port)
            except RunSuspended:
                self._resume()
            except RunCancelled as error:
                if error.reason == "cancelled" and not self.given_back:
                    return error
                self.given_back = 0
                self.lose_lease()
            except Exception as error:
                return error
            finally:
                with self._lock:
                    self.working = 0
                    self._in_flight = []
        raise AssertionError("the run does not end")

    def lose_lease(self) -> None:
        if self._taken is not None:
            self._outcomes.insert(0, self._taken)
        self._taken = None

    def _resume(self) -> None:
        """Goes to the moment at which the wait ends."""
        self._raise()
        if self.cancelled:
            self._wait = None
        while self._wait is not None:
            wait = self._wait
            moments = [] if wait.due_at is None else [wait.due_at]
            if wait.run_id is not None:
                _, begun, handler = next(each for each in self.started.values() if each[0] == wait.run_id)
                moments.append(begun + self.options.children[handler][0])
            if self._left:
                moments.append(STARTS_AT + self._left[0].at)
            assert moments, f"the run waits for ever: {wait}"
            self.at = max(self.at, min(moments))
            self._raise()
            if self._wait is None:
                return
            if wait.run_id is not None and self.child_outcome(wait.run_id) is not None:
                self._wait = None
            elif wait.due_at is not None and wait.due_at <= self.at:
                self._end_wait(None)

    def _raise(self) -> None:
        while self._left and STARTS_AT + self._left[0].at <= self.at:
            event = self._left.pop(0)
            if self._wait is not None and self._wait.kind == "event" and event.name in self._wait.names:
                self._end_wait(TakenEvent(event.name, event.payload))
            else:
                self._inbox.append(event)

    def _end_wait(self, taken: TakenEvent | None) -> None:
        assert self._wait is not None
        self._outcomes.append((self._wait.kind, tuple(sorted(self._wait.names)), taken))
        self._wait = None

    def child_outcome(self, run_id: str) -> ChildOutcome | None:
        _, begun, handler = next(each for each in self.started.values() if each[0] == run_id)
        after, outcome = self.options.children[handler]
        return outcome if self.at >= begun + after else None

    def wait_for(self, wait: Wait) -> tuple[bool, TakenEvent | None]:
        """Whether the wait has an outcome, and which; otherwise the run is parked."""
        self._raise()
        key = (wait.kind, tuple(sorted(wait.names)))
        of_names = [each for each in self._outcomes if each[2] is not None and each[2].name in wait.names]
        kept = next((each for each in self._outcomes if each[:2] == key), next(iter(of_names), None))
        event = next((each for each in self._inbox if wait.kind == "event" and each.name in wait.names), None)
        if kept is not None:
            self._outcomes.remove(kept)
            self._taken = kept
        elif event is not None:
            self._inbox.remove(event)
            self._taken = (*key, TakenEvent(event.name, event.payload))
        elif wait.due_at is not None and wait.due_at <= self.at:
            self._taken = (*key, None)
        else:
            self._taken, self._wait = None, wait
            for name in wait.names if wait.kind == "event" else ():
                reply = self.options.replies.get(name)
                if reply is not None:
                    self._left.insert(0, Raised(self.at - STARTS_AT + reply[0], name, reply[1]))
            return False, None
        return True, self._taken[2]

    def work(self, change: int) -> None:
        """Work of a step: while it goes on, no wait may begin."""
        with self._lock:
            if change > 0 and any(each.startswith("wait") for each in self._in_flight):
                self.faults.append("a step began during a wait")
            self.working += change

    def begin(self, what: str) -> None:
        is_wait = what.startswith("wait")
        if is_wait and self.working > 0:
            self.faults.append(f"{what} began while a step worked")
        if is_wait and self._in_flight:
            self.faults.append(f"{what} began during another call")
        if any(each.startswith("wait") for each in self._in_flight):
            self.faults.append(f"{what} began during a wait")
        self._in_flight.append(what)

    def end(self, what: str) -> None:
        if what in self._in_flight:
            self._in_flight.remove(what)

    def count(self, kind: str) -> int:
        return sum(call.startswith(kind) for call in self.calls)


class Port:
    """The calls of one execution."""

    def __init__(self, stage: RunStage) -> None:
        self.stage = stage
        self.lock = stage._lock
        self.cancellation = RunCancellation()
        self.over: BaseException | None = None
        self.run = {
            "id": "7",
            "attempt": stage.attempt,
            "payload": stage.options.payload,
            "maxAttempts": stage.options.max_attempts,
            "cancellationRequested": stage.cancelled,
            **({"firstCheckpoints": 1} if stage.options.first else {}),
        }
        self.names_max = stage.options.names_max
        self.is_last_attempt = stage.options.max_attempts == 1
        keys = [f"svc.steps.{number}" for number in range(16)] if stage.options.with_lease else []
        texts = {key: stage.checkpoints.get(key) for key in keys}
        self.given = {key: None if text is None else json.loads(text) for key, text in texts.items()}
        if stage.cancelled:
            self.cancellation.cancel()

    def _call(self, what: str, perform: Callable[[], Any]) -> Any:
        stage, options = self.stage, self.stage.options
        with self.lock:
            if self.over is not None:
                raise self.over
            stage.begin(what)
        try:
            with self.lock:
                stage.calls.append(what)
                number = len(stage.calls)
                stage.cancelled = stage.cancelled or options.cancel_at == number
            if options.cancel_at == number:
                self.cancellation.cancel()
            with self.lock:
                crash = options.crash if options.crash and options.crash.call == number else None
                if crash is not None and crash.when == "before":
                    raise self._stopped()
                answer = perform()
                if crash is not None:
                    raise self._stopped()
            return answer
        finally:
            with self.lock:
                stage.end(what)

    def _stopped(self) -> BaseException:
        self.over = RunCancelled("lease_lost")
        return self.over

    def _waited(self, wait: Wait) -> TakenEvent | None:
        def perform() -> TakenEvent | None:
            has_outcome, taken = self.stage.wait_for(wait)
            if not has_outcome:
                self.over = RunSuspended()
                raise self.over
            return taken

        return self._call(f"wait {wait.kind} {','.join(wait.names)}", perform)

    def give_back(self) -> None:
        self.stage.given_back += 1

    def now(self) -> float:
        return self.stage.at

    def random(self) -> float:
        return self.stage._randoms.pop(0) if self.stage._randoms else 0.5

    def uuid(self) -> str:
        return self.stage._uuids.pop(0) if self.stage._uuids else f"uuid-{len(self.stage.calls)}"

    def pause(self, seconds: float, until: threading.Event) -> None:
        with self.lock:
            self.stage.at += round(seconds * 1_000)

    def read(self, key: str) -> Any:
        def perform() -> Any:
            text = self.stage.checkpoints.get(key)
            return None if text is None else json.loads(text)

        return self._call(f"read {key}", perform)

    def write(self, key: str, content: Any, metadata: Mapping[str, str], news: Sequence[Any]) -> None:
        def perform() -> None:
            self.stage._taken = None
            self.stage.checkpoints[key] = json.dumps(content)
            self.stage.news.extend(entry["k"] for entry in news)

        self._call(f"write {key}", perform)

    def timer(self, name: str, fire_at: int) -> None:
        self._waited(Wait("timer", (name,), fire_at))

    def event(self, names: Sequence[str], until: int | None) -> TakenEvent | None:
        return self._waited(Wait("event", tuple(names), until))

    def start_child(self, handler_id: str, payload: Any, key: str, *, cancel_with_parent: bool) -> str:
        def perform() -> str:
            number = str(11 + len(self.stage.started))
            return self.stage.started.setdefault(key, (number, self.stage.at, handler_id))[0]

        return self._call(f"start {handler_id}", perform)

    def child(self, run_id: str, name: str, until: int | None) -> ChildOutcome | None:
        def perform() -> ChildOutcome | None:
            outcome = self.stage.child_outcome(run_id)
            if outcome is None and (until is None or until > self.stage.at):
                self.stage._wait = Wait("run", (name,), until, run_id)
                self.over = RunSuspended()
                raise self.over
            return outcome

        return self._call(f"wait run {name}", perform)

    def commit(self, tenant_id: str, request: Mapping[str, Any]) -> Any:
        def perform() -> Any:
            receipt = {"position": len(self.stage.commits) + 1}
            return self.stage.commits.setdefault(request["idempotencyKey"], receipt)

        return self._call(f"commit {tenant_id}", perform)

    def record(self, event_type: str, message: str, details: Mapping[str, object]) -> None:
        self._call("record", lambda: self.stage.records.append((event_type, details)))

    def log(self, level: str, message: str, error: BaseException | None = None) -> None:
        pass
