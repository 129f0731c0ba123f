"""Workers that end: by being stopped, and by being killed. Against the real service, but for questions whose answer is
late."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from service import running
from stage import Clock, Stage, silence
from stage import json as answer
from typing_tools import PACKAGE
from workers import (
    LogRecorder,
    Protocol,
    after,
    client_of,
    ended,
    external,
    jumping,
    lease_of,
    seen_by,
    start,
    still,
    types,
    wait,
    worker_of,
)

from svc_client import Client, SvcError, World
from svc_client.worker import RunContext, Worker

_ids = count()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running(external(10)) as found:
        yield found


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with client_of(address) as made:
        yield made


@pytest.fixture
def handler() -> str:
    """One that no other test has."""
    return f"h-{next(_ids)}"


def test_gives_up_its_call_and_lets_its_handlers_end_when_it_stops(client: Client, handler: str) -> None:
    begun, stopping = threading.Event(), threading.Event()

    def work(context: RunContext) -> object:
        begun.set()
        wait(stopping)
        context.checkpoint("last", 1)
        return context.cancellation.reason

    run_id = start(client, handler)
    # The other thread waits for a run that does not come.
    worker, _ = worker_of(client, {handler: work}, concurrency=2, wait_seconds=20)
    worker.start()
    wait(begun)
    stopper = threading.Thread(target=lambda: ends.append(worker.stop(60)))
    ends: list[bool] = []
    stopper.start()
    wait(worker._stopping.event)
    stopping.set()
    stopper.join()
    assert ends == [True]
    run = client.get_execution_run(run_id)
    assert (run["status"], run["result"]) == ("succeeded", None)
    assert worker.stopping
    late = start(client, handler)
    assert client.get_execution_run(late)["status"] == "queued"
    with pytest.raises(SvcError, match="starts once"):
        worker.start()


def test_completes_nothing_that_it_gave_up(client: Client, handler: str) -> None:
    begun, let_go = threading.Event(), threading.Event()
    reasons: list[Any] = []

    def work(context: RunContext) -> object:
        begun.set()
        wait(context.cancellation.event)
        reasons.append(context.cancellation.reason)
        context.checkpoint("last", 1)
        wait(let_go)
        return "too late"

    def again(context: RunContext) -> object:
        kept = context.read_checkpoint("last")
        return [context.run["attempt"], kept and kept["content"]]

    run_id = start(client, handler)
    worker, recorder = worker_of(client, {handler: work}, lease_seconds=60)
    worker.start()
    wait(begun)
    assert worker.stop(0) is False
    assert client.get_execution_run(run_id)["status"] == "queued"
    assert types(client, run_id)[-1] == "lease.returned"
    let_go.set()
    recorder.wait("The run was given up")
    other, _ = worker_of(client, {handler: again}, worker_id="other")
    with other:
        run = ended(client, run_id)
    assert (run["status"], run["result"], reasons) == ("succeeded", [2, 1], ["stopping"])


def test_run_returns_when_somebody_stops_it(client: Client, handler: str) -> None:
    worker, _ = worker_of(client, {handler: lambda context: worker.stop(0) and None})
    start(client, handler)
    worker.run()
    assert worker.stopping


def test_carries_out_a_run_that_it_had_just_asked_for() -> None:
    asked, clock = threading.Event(), Clock()

    def patient(seconds: float, until: threading.Event) -> None:
        wait(until)

    protocol = Protocol()
    world = World(now=clock.now, random=clock.random, sleep=patient)
    with Stage(protocol) as stage, client_of(stage, world=world) as client:
        worker, _ = worker_of(client, {"h": still})
        late = after(worker._stopping.event, answer(lease_of()))
        protocol._answers["lease"] = [seen_by(asked, late)]
        worker.start()
        wait(asked)
        clock.at += 0.9
        assert worker.stop(60)
    assert [result["status"] for result in protocol.results()] == ["succeeded"]
    assert len(protocol.sent("lease")) == 1


@pytest.mark.parametrize(
    ("asking", "grace", "pauses"), [(0.25, 60, [0.75, 59.25]), (1, 60, [0, 60]), (0.25, 0, [0, 0])]
)
def test_gives_up_a_question_that_has_been_asked_for_a_second(
    asking: float, grace: float, pauses: list[float]
) -> None:
    asked, clock = threading.Event(), Clock()
    protocol = Protocol(lease=seen_by(asked, silence))
    with Stage(protocol) as stage, client_of(stage, world=jumping(clock)) as client:
        worker, _ = worker_of(client, {"h": still})
        worker.start()
        wait(asked)
        clock.at += asking
        worker.stop(grace)
        wait(worker._idle)
    assert clock.slept[:2] == pauses
    assert len(protocol.sent("lease")) == 1


KILLED = PACKAGE / "tests/killed_worker.py"


def test_a_process_that_is_killed_leaves_its_run_to_another(client: Client, handler: str) -> None:
    run_id = start(client, handler)
    command = [sys.executable, str(KILLED), client.base_url, handler, "5"]
    env = {"PYTHONPATH": str(PACKAGE / "src")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"working on {run_id}\n"
        process.kill()
        assert process.wait() == -9
    calls: list[Any] = []

    def work(context: RunContext) -> object:
        kept = context.read_checkpoint("begun")
        calls.append(kept and kept["content"])
        return {"attempt": context.run["attempt"]}

    recorder = LogRecorder()
    others = [
        Worker(client, worker_id=f"other-{at}", handlers={handler: work}, wait_seconds=5, on_log=recorder)
        for at in range(3)
    ]
    with others[0], others[1], others[2]:
        run = ended(client, run_id)
    assert (run["status"], run["result"]) == ("succeeded", {"attempt": 2})
    assert calls == [{"by": "the one that is killed"}]
    assert types(client, run_id).count("run.completed") == 1
    assert recorder.count("A run was leased.") == 1


@pytest.mark.parametrize("way", ["SIGTERM", "SIGINT"])
def test_a_process_stops_with_a_signal(client: Client, handler: str, way: str) -> None:
    run_id = start(client, handler, "until stopped")
    command = [sys.executable, str(KILLED), client.base_url, handler, "600"]
    env = {"PYTHONPATH": str(PACKAGE / "src")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"working on {run_id}\n"
        process.send_signal(signal.Signals[way])
        assert process.stdout.read() == "stopped\n"
        assert process.wait() == 0
    run = client.get_execution_run(run_id)
    assert (run["status"], run["result"]) == ("succeeded", {"stopped": None})
