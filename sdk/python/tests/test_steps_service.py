"""Handlers with steps against the real service, as functions and as coroutines."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from service import running
from workers import LogRecorder, client_of, external, types, worker_of

from svc_client import Client
from svc_client.steps import (
    AsyncSteps,
    NamedEvent,
    Retry,
    RunFailed,
    StepFailed,
    StepHandler,
    Steps,
    Stop,
    handler,
    start,
)
from svc_client.worker import AsyncWorker, Worker

PATIENCE_SECONDS = 60

# The package itself calls the previews, so a program with steps gets no warning of them.
pytestmark = pytest.mark.filterwarnings("error::svc_client.PreviewWarning")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running(external(8)) as found:
        yield found


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with client_of(address) as made:
        yield made


@contextmanager
def working(client: Client, *handlers: Any) -> Iterator[LogRecorder]:
    worker, recorder = worker_of(client, list(handlers), concurrency=4, wait_seconds=0.2)  # type: ignore[arg-type]
    with worker:
        yield recorder


@contextmanager
def working_async(client: Client, *handlers: Any) -> Iterator[LogRecorder]:
    """In a loop of another thread."""
    recorder = LogRecorder()
    begun, ended = threading.Event(), threading.Event()

    async def work() -> None:
        async with AsyncWorker(
            client,
            worker_id="tasks",
            handlers=list(handlers),
            concurrency=4,
            wait_seconds=0.2,
            on_log=recorder,
        ):
            begun.set()
            await asyncio.get_running_loop().run_in_executor(None, ended.wait, PATIENCE_SECONDS)

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    assert begun.wait(PATIENCE_SECONDS)
    try:
        yield recorder
    finally:
        ended.set()
        thread.join()


def journal(client: Client, run_id: str) -> list[Any]:
    return [
        each["message"]
        for each in client.get_execution_run_history(run_id)
        if each["type"] == "step.completed"
    ]


calls: list[str] = []


@handler("h-0", version="3", retry=Retry(max_attempts=3))
def refund(ctx: Steps, order: str) -> dict[str, str]:
    charge = ctx.step("charge", lambda its: calls.append(its.idempotency_key) or {"id": f"ch-{order}"})
    approval = ctx.wait_for_event("approval", timeout=timedelta(days=7))
    ctx.sleep("cool", 0.05)
    one, two = ctx.all(lambda: ctx.step("label", lambda: "L"), lambda: ctx.step("mail", lambda: "M"))
    return {"charge": charge["id"], "by": approval["by"], "sent": one + two}


@handler("h-0", version="3")
async def refund_async(ctx: AsyncSteps, order: str) -> dict[str, str]:
    async def charged(its: Any) -> dict[str, str]:
        calls.append(its.idempotency_key)
        return {"id": f"ch-{order}"}

    charge = await ctx.step("charge", charged)
    approval = await ctx.wait_for_event("approval", timeout=timedelta(days=7))
    await ctx.sleep("cool", 0.05)

    async def label() -> str:
        return await ctx.step("label", lambda: "L")

    async def mail() -> str:
        return await ctx.step("mail", lambda: "M")

    one, two = await ctx.all(label, mail)
    return {"charge": charge["id"], "by": approval["by"], "sent": one + two}


FACES: Any = [(working, refund), (working_async, refund_async)]


@pytest.mark.parametrize(("at_work", "definition"), FACES, ids=["threads", "tasks"])
def test_a_charge_an_approval_and_a_pause(client: Client, at_work: Any, definition: Any) -> None:
    calls.clear()
    with at_work(client, definition) as worker:
        run = start(client, definition, "7")
        worker.wait("The run is parked.")
        run.raise_event("approval", {"by": "kim"})
        assert run.result(wait_timeout=PATIENCE_SECONDS) == {"charge": "ch-7", "by": "kim", "sent": "LM"}
    assert calls == [f"{run.id}/charge"]
    assert client.get_execution_run(run.id)["handlerVersion"] == "3"
    assert {"charge", "approval", "cool"} < {
        name for said in journal(client, run.id) for name in said.split(", ")
    }


@pytest.mark.parametrize(("first", "second"), [FACES, FACES[::-1]], ids=["to tasks", "to threads"])
def test_a_run_begins_in_one_face_and_ends_in_the_other(client: Client, first: Any, second: Any) -> None:
    calls.clear()
    with first[0](client, first[1]) as worker:
        run = start(client, refund, "8")
        worker.wait("The run is parked.")
    run.raise_event("approval", {"by": "kim"})
    with second[0](client, second[1]):
        assert run.result(wait_timeout=PATIENCE_SECONDS)["charge"] == "ch-8"
    assert calls == [f"{run.id}/charge"]


@handler("h-1")
def label(ctx: Steps, order: str) -> str:
    ctx.sleep("print", 0.2)
    if order == "none":
        raise Stop("no printer", failure_class="no_printer")
    return f"L-{order}"


@handler("h-2")
def parent(ctx: Steps, order: str) -> list[str]:
    later = ctx.start("later", label, "x")
    made = ctx.invoke("label", label, order)
    failed = ""
    try:
        ctx.invoke("none", label, "none")
    except StepFailed as error:
        failed = str(error)
    return [later, made, failed]


def test_children_run_under_the_lease_and_wake_their_parent(client: Client) -> None:
    with working(client, parent, label):
        run = start(client, parent, "7")
        later, made, failed = run.result(wait_timeout=PATIENCE_SECONDS)
    assert made == "L-7"
    assert failed == '"none" failed: h-1 ended as failed: no printer'
    assert client.get_execution_run(later)["parentRunId"] == run.id
    # One execution for each wait, and no look in between.
    assert client.get_execution_run(run.id)["attempt"] <= 3


@handler("h-3")
def names(ctx: Steps, _: None) -> Any:
    seen = ctx.wait_for_event("answer", names=["yes", "no"], timeout=600)
    again = ctx.wait_for_event("again", timeout=0.1)
    assert isinstance(seen, NamedEvent)
    return [seen.name, seen.payload, again]


def test_one_of_several_events(client: Client) -> None:
    with working(client, names) as worker:
        run = start(client, names, None)
        worker.wait("The run is parked.")
        run.raise_event("no", {"why": 1})
        assert run.result(wait_timeout=PATIENCE_SECONDS) == ["no", {"why": 1}, None]


undone: list[str] = []


def undo(name: str) -> Callable[[str], object]:
    return lambda value: undone.append(f"{name} {value}")


@handler("h-4")
def trip(ctx: Steps, how: str) -> None:
    ctx.step("flight", lambda: "F", undo=undo("flight"))
    ctx.step("hotel", lambda: "H", undo=undo("hotel"))
    if how == "stop":
        raise Stop("no car", failure_class="no_car")
    if how == "error":
        raise ValueError("no car")
    ctx.wait_for_event("car")


@pytest.mark.parametrize("how", ["stop", "error"])
def test_undo_when_the_run_fails_for_good(client: Client, how: str) -> None:
    undone.clear()
    policy = {"maxAttempts": 2, "initialDelaySeconds": 0.01}
    with working(client, trip):
        run = start(client, trip, how, retryPolicy=policy)
        with pytest.raises(RunFailed):
            run.result(wait_timeout=PATIENCE_SECONDS)
    assert undone == ["hotel H", "flight F"]
    ended = client.get_execution_run(run.id)
    # A stop is final with attempts left.
    assert (ended["failures"], ended["failureClass"]) == ((1, "no_car") if how == "stop" else (2, "unknown"))


def test_undo_when_a_parked_run_is_cancelled(client: Client) -> None:
    undone.clear()
    with working(client, trip) as worker:
        run = start(client, trip, "wait", cancellation="cooperative")
        worker.wait("The run is parked.")
        client.cancel_execution_run(run.id)
        with pytest.raises(RunFailed, match="cancelled"):
            run.result(wait_timeout=PATIENCE_SECONDS)
    assert undone == ["hotel H", "flight F"]


def test_a_fresh_run_makes_no_call_beside_its_writes(client: Client) -> None:
    made: list[str] = []

    original = Client.get_external_execution_lease_checkpoint

    def counted(self: Any, *given: Any, **more: Any) -> Any:
        made.append("read")
        return original(self, *given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "get_external_execution_lease_checkpoint", counted)
        with working(client, refund) as worker:
            run = start(client, refund, "9")
            worker.wait("The run is parked.")
            run.raise_event("approval", {"by": "kim"})
            run.result(wait_timeout=PATIENCE_SECONDS)
    # The resumed one has its journal with the lease.
    assert made == []
    assert "checkpoint.written" in types(client, run.id)


def test_a_worker_takes_handlers_with_steps_alone_as_a_list(client: Client) -> None:
    from svc_client import SvcError

    def plain(_: Any) -> None:
        pass

    with pytest.raises(SvcError, match="handlers with steps"):
        Worker(client, worker_id="w", handlers=[plain])  # type: ignore[list-item]
    with pytest.raises(SvcError, match="twice"):
        Worker(client, worker_id="w", handlers=[refund, refund])
    with pytest.raises(SvcError, match="AsyncWorker"):
        Worker(client, worker_id="w", handlers=[refund_async])  # type: ignore[list-item]
    assert isinstance(refund, StepHandler)
    assert json.dumps([refund.id, refund.version, refund.retry.max_attempts]) == '["h-0", "3", 3]'
