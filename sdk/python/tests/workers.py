"""Workers under test: what they say is kept, and can be waited for."""

from __future__ import annotations

import json as json_module
import threading
from collections.abc import Mapping
from typing import Any

from stage import Answer, Clock, Reply, Seen, Stage
from stage import json as answer

from svc_client import Client, World
from svc_client.worker import DeliveryError, RunContext, Worker, WorkerLog

PATIENCE_SECONDS = 60
"""How long a test waits for a signal before it fails."""

TOKEN = "0123456789abcdef" * 4


class LogRecorder:
    """The log lines of a worker."""

    def __init__(self) -> None:
        self.logs: list[WorkerLog] = []
        self._changed = threading.Condition()

    def __call__(self, said: WorkerLog) -> None:
        with self._changed:
            self.logs.append(said)
            self._changed.notify_all()

    def count(self, message: str) -> int:
        return sum(message in said.message for said in self.logs)

    def wait(self, message: str, times: int = 1) -> None:
        """Until it was said so often."""
        with self._changed:
            came = self._changed.wait_for(lambda: self.count(message) >= times, PATIENCE_SECONDS)
        assert came, [said.message for said in self.logs]


def wait(event: threading.Event) -> None:
    assert event.wait(PATIENCE_SECONDS), "the signal did not come"


_open: list[Client] = []


def close_clients() -> None:
    """Closes the clients that `worker_of` made itself."""
    while _open:
        _open.pop().close()


def client_of(place: Stage | str, **options: Any) -> Client:
    address = place.address if isinstance(place, Stage) else place
    return Client(address, **{"api_key": None, "token": None, **options})


def worker_of(
    place: Stage | str | Client, handlers: Mapping[str, Any], **options: Any
) -> tuple[Worker, LogRecorder]:
    recorder = LogRecorder()
    client = place if isinstance(place, Client) else client_of(place)
    if client is not place:
        _open.append(client)
    # A lease ends in tests alone that name its seconds, however slow the machine is.
    lease = {} if "lease_seconds" in options else {"lease_seconds": 600, "heartbeat_seconds": 3}
    named = {"worker_id": "worker-1", "wait_seconds": 5, "on_log": recorder, **lease, **options}
    return Worker(client, handlers=handlers, **named), recorder


def still(context: RunContext) -> object:
    """A handler that has nothing to do."""
    return {"done": True}


def jumping(clock: Clock) -> World:
    """Time that passes in pauses; heartbeats are left out, whose pauses would be over at once."""

    def sleep(seconds: float, until: threading.Event) -> None:
        if threading.current_thread().name.startswith("svc-heartbeat"):
            until.wait(PATIENCE_SECONDS)
        else:
            clock.pause(seconds)

    return World(now=clock.now, random=clock.random, sleep=sleep)


def run_of(**more: Any) -> dict[str, Any]:
    return {
        "id": "7",
        "handlerId": "h",
        "pluginId": None,
        "status": "running",
        "payload": {"order": "7"},
        "cancellationRequested": False,
        **more,
    }


def lease_of(**more: Any) -> dict[str, Any]:
    return {
        "leaseKey": "key-7",
        "leaseToken": TOKEN,
        "workerId": "worker-1",
        "run": run_of(**more),
        "acquiredAtUtc": "2026-01-01T00:00:00.000Z",
        "expiresAtUtc": "2026-01-01T00:01:00.000Z",
    }


ENDED = answer(run_of(status="succeeded"))


class Protocol:
    """A service of the worker operations: of each, answers in turn, the last for all that follow."""

    def __init__(self, **answers: Answer | list[Answer]) -> None:
        given = {"lease": answer(lease_of()), "heartbeat": answer(lease_of()), "complete": ENDED, **answers}
        self._answers = {name: each if isinstance(each, list) else [each] for name, each in given.items()}
        self.bodies: dict[str, list[Any]] = {}
        self._lock = threading.Lock()

    def __call__(self, reply: Reply, seen: Seen) -> None:
        name = seen.target.removeprefix("/execution/workers/leases").strip("/").replace("/", "_") or "lease"
        with self._lock:
            bodies = self.bodies.setdefault(name, [])
            bodies.append(json_module.loads(seen.body))
            answers = self._answers[name]
            chosen = answers[min(len(bodies), len(answers)) - 1]
        chosen(reply, seen)

    def sent(self, name: str) -> list[Any]:
        return self.bodies.get(name, [])

    def results(self) -> list[Any]:
        return [body["result"] for body in self.sent("complete")]


def after(event: threading.Event, given: Answer) -> Answer:
    """Answers once the signal is there."""

    def answers(reply: Reply, seen: Seen) -> None:
        wait(event)
        given(reply, seen)

    return answers


def seen_by(event: threading.Event, given: Answer) -> Answer:
    """Gives a signal when the request is there."""

    def answers(reply: Reply, seen: Seen) -> None:
        event.set()
        given(reply, seen)

    return answers


def external(count: int) -> dict[str, str]:
    """Settings of a service whose handlers `h-0` and so on are executed outside."""
    return {f"ExecutionRuntime:ExternalHandlers:{at}:HandlerId": f"h-{at}" for at in range(count)}


def start(client: Client, handler: str, payload: object = None, **more: Any) -> str:
    # A type checker cannot see that the names in `more` are members of the request.
    return client.start_execution_run({"handlerId": handler, "payload": payload, **more})["id"]  # type: ignore[typeddict-item]


def ended(client: Client, run_id: str) -> Any:
    return client.wait_for_execution_run(run_id, wait_timeout=60)


def types(client: Client, run_id: str) -> list[str]:
    return [event["type"] for event in client.get_execution_run_history(run_id)]


UNKNOWN = "The run 7 was not carried out to its end: unknown."


def delivered(protocol: Protocol, handler: Any = still, clock: Clock | None = None, **options: Any) -> Any:
    """The result of one delivery, with time that passes in pauses alone."""
    clock = clock or Clock()
    clock.chance = clock.chance or 1.0
    with Stage(protocol) as stage, client_of(stage, world=jumping(clock)) as client:
        worker, recorder = worker_of(client, {"h": handler}, **{"lease_seconds": 60, **options})
        try:
            return worker.deliver("7"), recorder
        except DeliveryError as error:
            return str(error), recorder
