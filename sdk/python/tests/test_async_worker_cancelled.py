"""Coroutine handlers whose tasks are cancelled by others than their worker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from async_workers import blocking, forever, on_stage, worker_of
from stage import Stage, silence
from stage import json as answer
from workers import ENDED, LogRecorder, Protocol, client_of, lease_of

from svc_client import Client
from svc_client.worker import AsyncRunContext


async def _awaits_a_cancelled_future() -> None:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


async def _cancels_its_own_task() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


@pytest.mark.parametrize("cancelled", [_awaits_a_cancelled_future, _cancels_its_own_task])
def test_a_cancellation_within_a_handler_fails_its_run_and_the_worker_goes_on(
    cancelled: Callable[[], Awaitable[None]],
) -> None:
    protocol = Protocol(lease=[answer(lease_of()), answer(lease_of()), silence])

    async def work(context: AsyncRunContext) -> object:
        begun.append(context.run["id"])
        if len(begun) == 1:
            await cancelled()
        return "carried out"

    begun: list[str] = []

    async def main(client: Client) -> None:
        worker, recorder = worker_of(client, {"h": work})
        running = asyncio.ensure_future(worker.run())
        await blocking(recorder.wait, "The run is succeeded.")
        assert not worker.stopping
        await worker.stop()
        await running

    on_stage(protocol, main)
    failed, carried_out = protocol.results()
    assert (failed["status"], failed["failureClass"]) == ("failed", "unknown")
    assert carried_out == {"status": "succeeded", "result": "carried out"}


def test_a_cancellation_of_all_tasks_ends_the_run_of_the_worker_and_is_logged() -> None:
    protocol = Protocol(lease=[answer(lease_of()), silence], release=ENDED)

    async def main(client: Client) -> list[str]:
        begun = asyncio.Event()

        async def work(context: AsyncRunContext) -> object:
            begun.set()
            return await forever(context)

        worker, recorder = worker_of(client, {"h": work})
        running = asyncio.ensure_future(worker.run())
        await begun.wait()
        for task in asyncio.all_tasks() - {running, asyncio.current_task()}:
            task.cancel()
        await running
        return [log.message for log in recorder.logs if log.level == "warning"]

    assert on_stage(protocol, main)[0] == "The worker stops: its event loop ends."
    assert (protocol.sent("complete"), len(protocol.sent("release"))) == ([], 1)


def test_a_loop_that_ends_gives_the_runs_back() -> None:
    protocol = Protocol(lease=[answer(lease_of()), silence], release=ENDED)
    recorders: list[LogRecorder] = []

    async def main(client: Client) -> None:
        begun = asyncio.Event()

        async def work(context: AsyncRunContext) -> object:
            begun.set()
            return await forever(context)

        worker, recorder = worker_of(client, {"h": work})
        recorders.append(recorder)
        worker.start()
        await begun.wait()

    with Stage(protocol) as stage, client_of(stage) as client:
        asyncio.run(main(client))
        recorders[0].wait("The run was given back.")
    assert protocol.sent("complete") == []
