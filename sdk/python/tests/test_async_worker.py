"""The worker for coroutine handlers. Its threads are those of `Worker`, whose own tests hold for both."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from async_workers import blocking, forever, on_stage, worker_of
from service import running
from stage import Stage, problem, silence
from stage import json as answer
from workers import (
    Protocol,
    client_of,
    ended,
    external,
    lease_of,
    run_of,
    start,
    types,
    wait,
)

from svc_client import Client, SvcError
from svc_client.worker import (
    AsyncPluginHandler,
    AsyncRunContext,
    AsyncWorker,
    RunFailure,
    Worker,
    WorkerBusyError,
    stop_on_signals,
)

_ids = count()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running({**external(20), "ExecutionRuntime:ExternalHandlers:0:PluginId": "plugin-1"}) as found:
        yield found


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with client_of(address) as made:
        yield made


@pytest.fixture
def handler() -> str:
    """One that no other test has. The first has a plugin."""
    return f"h-{next(_ids) + 1}"


def test_carries_out_a_run_with_each_call_of_the_context(client: Client, handler: str) -> None:
    async def work(context: AsyncRunContext) -> object:
        context.check()
        run = await context.report({"currentStep": "reading", "progress": 0.5})
        assert (run["progress"], context.run["progress"]) == (0.5, 0.5)
        await context.record_event("half of it", event_type="half", severity="warning", details={"at": 1})
        assert (await context.put_artifact({"name": "page", "kind": "text", "text": "hi"}))["sizeBytes"] == 2
        assert await context.read_checkpoint("place") is None
        await context.checkpoint("place", {"at": 1}, metadata={"a": "b"})
        kept = await context.read_checkpoint("place")
        assert kept is not None
        return [context.payload, kept["content"], threading.current_thread() is threading.main_thread()]

    async def main() -> Any:
        worker, _ = worker_of(client, {handler: work})
        async with worker:
            return await blocking(ended, client, start(client, handler, "7"))

    run = asyncio.run(main())
    assert (run["status"], run["result"]) == ("succeeded", ["7", {"at": 1}, True])
    assert {"half", "artifact.written", "checkpoint.written"} <= set(types(client, run["id"]))


def test_handlers_run_at_once_in_one_loop(client: Client, handler: str) -> None:
    async def main() -> Any:
        both = asyncio.Event()
        seen: list[Any] = []

        async def work(context: AsyncRunContext) -> None:
            seen.append(context.payload)
            if len(seen) == 2:
                both.set()
            await both.wait()

        worker, _ = worker_of(client, {handler: work}, concurrency=2)
        async with worker:
            ids = [start(client, handler, payload) for payload in (1, 2)]
            return [(await blocking(ended, client, each))["status"] for each in ids]

    assert asyncio.run(main()) == ["succeeded", "succeeded"]


def test_a_wait_parks_the_run_and_the_handler_starts_again(client: Client, handler: str) -> None:
    async def work(context: AsyncRunContext) -> object:
        timer = await context.wait_for_timer("soon", after_seconds=0)
        event = await context.wait_for_external_event("go")
        return [timer["outcome"], event["outcome"], context.run["attempt"]]

    async def main() -> Any:
        worker, recorder = worker_of(client, {handler: work})
        async with worker:
            run_id = start(client, handler)
            await blocking(recorder.wait, "The run is parked")
            client.raise_execution_event(run_id, {"name": "go"})
            return await blocking(ended, client, run_id)

    run = asyncio.run(main())
    assert (run["status"], run["result"][:2]) == ("succeeded", ["timer", "external_event"])


def test_a_cancelled_run_cancels_the_task_of_its_handler(client: Client, handler: str) -> None:
    caught: list[Any] = []

    async def work(context: AsyncRunContext) -> object:
        begun.set()
        try:
            return await forever(context)
        except asyncio.CancelledError:
            # The task is cancelled once: the handler may still write under its lease.
            await context.checkpoint("last", 1)
            caught.append(context.cancellation.reason)
            raise

    begun = threading.Event()

    async def main() -> Any:
        worker, _ = worker_of(client, {handler: work}, lease_seconds=60, heartbeat_seconds=0.05)
        async with worker:
            run_id = start(client, handler)
            await blocking(wait, begun)
            client.cancel_execution_run(run_id)
            return await blocking(ended, client, run_id)

    run = asyncio.run(main())
    assert (run["status"], caught) == ("cancelled", ["cancelled"])
    assert client.get_execution_run_checkpoint(run["id"], "last")["content"] == 1


@pytest.mark.parametrize(("grace", "status"), [(60, "succeeded"), (0, "queued")])
def test_a_stop_drains_then_cancels_and_gives_back(
    client: Client, handler: str, grace: float, status: str
) -> None:
    reasons: list[Any] = []

    async def main() -> Any:
        begun, end = threading.Event(), asyncio.Event()

        async def work(context: AsyncRunContext) -> object:
            begun.set()
            try:
                await end.wait()
            finally:
                reasons.append(context.cancellation.reason)
            return "drained"

        worker, _ = worker_of(client, {handler: work})
        worker.start()
        run_id = start(client, handler)
        await blocking(wait, begun)
        stopped = asyncio.ensure_future(worker.stop(grace))
        await blocking(wait, worker._worker._stopping.event)
        if grace > 0:
            end.set()
        assert await stopped
        assert worker.stopping
        return client.get_execution_run(run_id)

    run = asyncio.run(main())
    assert (run["status"], reasons) == (status, [None if grace > 0 else "stopping"])
    assert (types(client, run["id"])[-1] == "lease.returned") == (grace == 0)


def test_a_handler_that_blocks_the_loop_keeps_its_lease() -> None:
    renewed = threading.Event()
    protocol = Protocol(heartbeat=[answer(lease_of()), answer(lease_of()), _signalled(renewed)])

    async def work(context: AsyncRunContext) -> object:
        wait(renewed)
        return "kept"

    async def main(client: Client) -> Any:
        worker, _ = worker_of(client, {"h": work}, lease_seconds=60, heartbeat_seconds=0.01)
        return await worker.deliver("7")

    assert on_stage(protocol, main) == "executed"
    assert protocol.results() == [{"status": "succeeded", "result": "kept"}]


def _signalled(event: threading.Event) -> Any:
    def answers(reply: Any, seen: Any) -> None:
        event.set()
        answer(lease_of())(reply, seen)

    return answers


def test_a_lost_lease_cancels_the_handler_and_sends_no_result() -> None:
    protocol = Protocol(heartbeat=problem(409, "lease_stale"))
    reasons: list[Any] = []

    async def work(context: AsyncRunContext) -> object:
        try:
            return await forever(context)
        finally:
            reasons.append(context.cancellation.reason)

    async def main(client: Client) -> None:
        worker, _ = worker_of(client, {"h": work}, lease_seconds=60, heartbeat_seconds=0.01)
        with pytest.raises(SvcError, match="not carried out to its end: lost"):
            await worker.deliver("7")

    on_stage(protocol, main)
    assert (reasons, protocol.sent("complete")) == (["lease_lost"], [])


@pytest.mark.parametrize(
    ("thrown", "failure"),
    [
        (RunFailure("no such order", failure_class="validation"), ("validation", "no such order")),
        (ValueError("canary"), ("unknown", "External plugin handler failed.")),
        (asyncio.CancelledError("of another task"), ("unknown", "External plugin handler failed.")),
    ],
    ids=["failure", "exception", "cancelled"],
)
def test_an_exception_of_a_handler_fails_its_run(thrown: BaseException, failure: tuple[str, str]) -> None:
    protocol = Protocol()

    async def work(context: AsyncRunContext) -> object:
        raise thrown

    async def main(client: Client) -> object:
        return await worker_of(client, {"h": work})[0].deliver("7")

    assert on_stage(protocol, main) == "executed"
    (result,) = protocol.results()
    assert (result["failureClass"], result["error"]) == failure


def test_an_exit_of_a_handler_stops_the_worker_and_not_the_loop() -> None:
    protocol = Protocol()

    async def leave(context: AsyncRunContext) -> object:
        raise SystemExit(3)

    async def main(client: Client) -> bool:
        worker, _ = worker_of(client, {"h": leave})
        with pytest.raises(SystemExit):
            await worker.run()
        return worker.stopping

    assert on_stage(protocol, main)
    assert protocol.results()[0]["failureClass"] == "unknown"


def test_a_cancelled_run_of_the_worker_drains_it() -> None:
    protocol = Protocol(lease=[answer(lease_of()), silence])

    async def main(client: Client) -> None:
        begun, end = threading.Event(), asyncio.Event()

        async def work(context: AsyncRunContext) -> object:
            begun.set()
            await end.wait()
            return "drained"

        worker, _ = worker_of(client, {"h": work})
        running = asyncio.ensure_future(worker.run())
        await blocking(wait, begun)
        running.cancel()
        await blocking(wait, worker._worker._stopping.event)
        end.set()
        with pytest.raises(asyncio.CancelledError):
            await running

    on_stage(protocol, main)
    assert protocol.results() == [{"status": "succeeded", "result": "drained"}]


def test_the_caller_of_a_delivery_may_leave_and_the_run_goes_on() -> None:
    protocol = Protocol()

    async def main(client: Client) -> None:
        begun, end = asyncio.Event(), asyncio.Event()

        async def work(context: AsyncRunContext) -> object:
            begun.set()
            await end.wait()
            return "carried out"

        worker, recorder = worker_of(client, {"h": work})
        delivery = asyncio.ensure_future(worker.deliver("7"))
        await begun.wait()
        delivery.cancel()
        with pytest.raises(asyncio.CancelledError):
            await delivery
        with pytest.raises(WorkerBusyError):
            await worker.deliver("8")
        end.set()
        await blocking(recorder.wait, "The run is succeeded.")

    on_stage(protocol, main)
    assert protocol.results() == [{"status": "succeeded", "result": "carried out"}]


def test_a_signal_stops_it() -> None:
    async def main(client: Client) -> None:
        worker, _ = worker_of(client, {"h": forever}, concurrency=1)
        restore = stop_on_signals(worker, [signal.SIGUSR1])
        try:
            running = asyncio.ensure_future(worker.run())
            await asyncio.sleep(0)
            os.kill(os.getpid(), signal.SIGUSR1)
            await running
        finally:
            restore()

    on_stage(Protocol(lease=silence), main)


def test_a_handler_of_a_plugin_serves_that_plugin_alone() -> None:
    protocol = Protocol(lease=[answer(lease_of(pluginId="a")), answer(lease_of(pluginId="b"))])

    async def work(context: AsyncRunContext) -> object:
        return "mine"

    async def main(client: Client) -> None:
        worker, _ = worker_of(client, {"h": AsyncPluginHandler("a", work)})
        assert [await worker.deliver("7"), await worker.deliver("8")] == ["executed", "executed"]

    on_stage(protocol, main)
    assert [each.get("failureClass") for each in protocol.results()] == [None, "plugin_mismatch"]


def test_refuses_what_it_cannot_await_and_another_loop() -> None:
    with client_of("http://127.0.0.1:9") as client:
        for handlers in ({"h": lambda context: None}, {"h": AsyncPluginHandler("p", print)}, {"h": None}):
            with pytest.raises(SvcError, match="'h' is not a coroutine function"):
                AsyncWorker(client, worker_id="w", handlers=handlers)  # type: ignore[dict-item, arg-type]
        with pytest.raises(SvcError, match="mapping"):
            AsyncWorker(client, worker_id="w", handlers=[forever])  # type: ignore[arg-type]
        with pytest.raises(SvcError, match="coroutine function: create an AsyncWorker"):
            Worker(client, worker_id="w", handlers={"h": forever})  # type: ignore[dict-item]
    protocol = Protocol()

    async def work(context: AsyncRunContext) -> None:
        pass

    with Stage(protocol) as stage, client_of(stage) as client:
        worker, _ = worker_of(client, {"h": work})
        assert repr(worker) == "AsyncWorker(worker_id='worker-1', handlers=['h'])"

        async def deliver() -> object:
            return await worker.deliver("7")

        assert asyncio.run(deliver()) == "executed"
        with pytest.raises(SvcError, match="belongs to the event loop"):
            asyncio.run(deliver())
    assert run_of()["id"] == "7"
