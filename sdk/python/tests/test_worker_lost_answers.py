"""Workers and a real service, where answers are lost on their way."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from service import running
from workers import client_of, ended, external, start, types, worker_of

from svc_client import APIConnectionError, Client
from svc_client.worker import RunContext

RUNS = 8
EVENTS = 3


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running(external(2)) as at:
        yield at


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with client_of(address) as made:
        yield made


class Lossy:
    """Calls of a client whose answers are lost now and then: the service has executed them."""

    def __init__(self, client: Client, every: int) -> None:
        self.count = 0
        self._every = every
        self._lock = threading.Lock()
        for name in (
            "wait_external_execution_lease",
            "record_external_execution_lease_event",
            "put_external_execution_lease_artifact",
            "put_external_execution_lease_checkpoint",
        ):
            setattr(client, name, self._losing(getattr(client, name)))

    def _losing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def lose(*given: Any, **named: Any) -> Any:
            answer = call(*given, **named)
            with self._lock:
                self.count += 1
                lost = self.count % self._every == 0
            if lost:
                raise APIConnectionError("The answer was lost.")
            return answer

        return lose


def test_no_run_loses_an_event_and_no_write_is_made_twice(address: str, client: Client) -> None:
    with client_of(address) as own:
        lossy = Lossy(own, every=3)

        def work(context: RunContext) -> list[Any]:
            known = context.read_checkpoint("seen")
            seen: Any = [] if known is None else known["content"]
            while len(seen) < EVENTS:
                event = context.wait_for_external_event("e")["event"]
                assert event is not None
                seen.append(event["payload"])
                context.checkpoint("seen", seen)
            context.record_event("all of them")
            context.put_artifact({"name": "seen", "content": seen})
            return list(seen)

        runs = [start(client, "h-0") for _ in range(RUNS)]
        for run, number in itertools.product(runs, range(EVENTS)):
            client.raise_execution_event(run, {"name": "e", "payload": number})
        worker, _ = worker_of(own, {"h-0": work}, concurrency=2)
        with worker:
            for run in runs:
                assert ended(client, run)["result"] == [0, 1, 2]
        assert lossy.count > RUNS * 2 * EVENTS
        for run in runs:
            assert types(client, run).count("log") == 1
            assert types(client, run).count("artifact.written") == 1
            assert types(client, run).count("checkpoint.written") == EVENTS
            assert len(client.list_execution_run_artifacts(run)) == 1


def test_a_wait_that_parks_its_run_is_known_when_it_is_repeated(address: str, client: Client) -> None:
    with client_of(address) as own:
        lossy = Lossy(own, every=2)
        lossy.count = 1

        def work(context: RunContext) -> Any:
            return context.wait_for_external_event("e")["outcome"]

        run = start(client, "h-1")
        worker, _ = worker_of(own, {"h-1": work})
        assert worker.deliver(run) == "suspended"
        assert lossy.count == 3
        client.raise_execution_event(run, {"name": "e"})
        assert worker.deliver(run) == "executed"
        assert ended(client, run)["result"] == "external_event"
