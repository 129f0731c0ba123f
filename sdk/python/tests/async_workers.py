"""Workers for coroutine handlers under test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from stage import Stage
from workers import LogRecorder, Protocol, client_of

from svc_client import Client
from svc_client.worker import AsyncRunContext, AsyncWorker


def worker_of(client: Client, handlers: Any, **options: Any) -> tuple[AsyncWorker, LogRecorder]:
    recorder = LogRecorder()
    lease = {} if "lease_seconds" in options else {"lease_seconds": 600, "heartbeat_seconds": 3}
    named = {"worker_id": "worker-1", "wait_seconds": 5, "on_log": recorder, **lease, **options}
    return AsyncWorker(client, handlers=handlers, **named), recorder


async def blocking(call: Callable[..., Any], *given: Any) -> Any:
    """A blocking call of a test, which leaves the loop to the handlers."""
    return await asyncio.get_running_loop().run_in_executor(None, call, *given)


def on_stage(protocol: Protocol, main: Callable[[Client], Awaitable[Any]]) -> Any:
    with Stage(protocol) as stage, client_of(stage) as client:

        async def whole() -> Any:
            return await main(client)

        return asyncio.run(whole())


async def forever(context: AsyncRunContext) -> object:
    return await asyncio.get_running_loop().create_future()
