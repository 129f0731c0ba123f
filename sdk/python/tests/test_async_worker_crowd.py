"""The worker for coroutine handlers under load and in programs that end early."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from async_workers import blocking, forever, on_stage, worker_of
from stage import Stage, empty, silence
from stage import json as answer
from workers import ENDED, Protocol, client_of, lease_of, seen_by, wait

from svc_client import Cancellation, Client
from svc_client._in_thread import in_thread
from svc_client.worker import AsyncRunContext, RunFailure
from svc_client.worker._loop import carried_out

CROWD = 20


def crowd() -> list[Any]:
    return [*(answer(lease_of(id=str(at))) for at in range(CROWD)), silence]


@pytest.mark.parametrize("turns", [0, 1], ids=["nothing begun", "a task without its first step"])
def test_a_loop_that_is_closed_before_a_handler_begins_ends_the_wait_for_it(turns: int) -> None:
    async def work() -> object:
        raise AssertionError("it never begins")

    loop = asyncio.new_event_loop()
    queued = threading.Event()
    found: list[Any] = []
    scheduled = loop.call_soon_threadsafe

    def call_soon(call: Any, *given: Any) -> Any:
        # One turn of the loop creates the tasks, whose first step is for the next one.
        handle = scheduled(call, *given)
        queued.set()
        return handle

    loop.call_soon_threadsafe = call_soon  # type: ignore[method-assign, assignment]
    waiting = threading.Thread(target=lambda: found.append(carried_out(loop, work, Cancellation())))
    waiting.start()
    wait(queued)
    for _ in range(turns):
        loop.call_soon(loop.stop)
        loop.run_forever()
    left = asyncio.all_tasks(loop)
    # The task of the handler, and the one that watches for the end of the loop.
    assert len(left) == 2 * turns
    loop.close()
    waiting.join(60)
    assert found == [None]
    for task in left:
        # It stays pending, and is no fault of the test.
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        task.get_coro().close()  # type: ignore[union-attr]


def test_a_call_in_a_thread_that_raises_stop_iteration_ends() -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="raised StopIteration") as caught:
            await in_thread(lambda: next(iter([])), "t")
        assert isinstance(caught.value.__cause__, StopIteration)

    asyncio.run(main())


def test_twenty_handlers_at_once_end_each_in_its_own_way() -> None:
    completed = threading.Event()
    protocol = Protocol(lease=crowd(), complete=[*[ENDED] * (CROWD - 1), seen_by(completed, ENDED)])

    async def main(client: Client) -> None:
        count, all_there = 0, asyncio.Event()

        async def work(context: AsyncRunContext) -> object:
            nonlocal count
            count += 1
            if count == CROWD:
                all_there.set()
            await all_there.wait()
            number = int(context.run["id"])
            if number % 4 == 1:
                raise ValueError("canary")
            if number % 4 == 2:
                raise RunFailure("no", failure_class="validation")
            if number % 4 == 3:
                next(iter([]))
            return number

        worker, _ = worker_of(client, {"h": work}, concurrency=CROWD)
        async with worker:
            await blocking(wait, completed)
        assert count == CROWD

    on_stage(protocol, main)
    ends = {f"{each['status']} {each.get('failureClass')}" for each in protocol.results()}
    assert ends == {"succeeded None", "failed unknown", "failed validation"}
    assert sorted(each["result"] for each in protocol.results() if "result" in each) == [0, 4, 8, 12, 16]
    assert "canary" not in str(protocol.bodies)


@pytest.mark.parametrize("obeys", [True, False])
def test_a_stop_without_grace_gives_back_twenty_runs_without_a_result(obeys: bool) -> None:
    protocol = Protocol(lease=crowd(), release=ENDED)

    async def main(client: Client) -> bool:
        ever: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        count, all_there = 0, asyncio.Event()

        async def work(context: AsyncRunContext) -> object:
            nonlocal count
            count += 1
            if count == CROWD:
                all_there.set()
            try:
                return await asyncio.shield(ever)
            except asyncio.CancelledError:
                # One that ignores its cancellation is abandoned.
                if obeys:
                    raise
                return await asyncio.shield(ever)

        worker, _ = worker_of(client, {"h": work}, concurrency=CROWD)
        worker.start()
        await all_there.wait()
        stopped = await worker.stop(0)
        ever.set_result(None)
        return stopped

    assert on_stage(protocol, main) is obeys
    assert (len(protocol.sent("release")), protocol.sent("complete")) == (CROWD, [])


def test_a_second_cancellation_of_the_worker_ends_the_wait_for_its_handlers() -> None:
    protocol = Protocol(lease=[answer(lease_of()), silence], release=ENDED)

    async def main(client: Client) -> None:
        begun = threading.Event()

        async def work(context: AsyncRunContext) -> object:
            begun.set()
            return await forever(context)

        worker, _ = worker_of(client, {"h": work})
        running = asyncio.ensure_future(worker.run())
        await blocking(wait, begun)
        running.cancel()
        await blocking(wait, worker._worker._stopping.event)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await worker.stop(0)

    on_stage(protocol, main)
    assert protocol.sent("complete") == []


def test_a_message_that_comes_again_during_its_run_does_nothing() -> None:
    protocol = Protocol(lease=[answer(lease_of()), empty])
    calls: list[str] = []

    async def main(client: Client) -> list[str]:
        begun, end = asyncio.Event(), asyncio.Event()

        async def work(context: AsyncRunContext) -> object:
            calls.append(context.run["id"])
            begun.set()
            await end.wait()
            return None

        worker, _ = worker_of(client, {"h": work}, concurrency=2)
        first = asyncio.ensure_future(worker.deliver("7"))
        await begun.wait()
        second = await worker.deliver("7")
        end.set()
        return [await first, second]

    with Stage(protocol) as stage, client_of(stage) as client:
        assert asyncio.run(main(client)) == ["executed", "nothing"]
    assert calls == ["7"]
