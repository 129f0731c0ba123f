"""The worker for coroutine handlers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from .._coroutines import is_coroutine_function
from .._errors import SvcError
from .._in_thread import in_thread
from ._async_context import AsyncHandlerCall, AsyncPluginHandler, AsyncRunContext
from ._loop import carried_out
from ._options import PluginHandler, named
from ._worker import GRACE_SECONDS, Worker

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._client import Client
    from ._context import RunContext
    from ._endings import Delivered
    from ._log import OnLog
    from ._options import HandlerCall


class AsyncStepCall(Protocol):
    """A coroutine handler with steps."""

    @property
    def id(self) -> str: ...
    @property
    def svc_step_version(self) -> str: ...
    async def __call__(self, context: AsyncRunContext, /) -> object: ...


@dataclass(frozen=True)
class _Blocking:
    """A coroutine handler, as the threads call it."""

    call: HandlerCall
    svc_step_version: str | None

    def __call__(self, context: RunContext) -> object:
        return self.call(context)


class AsyncWorker:
    """Executes the runs of its coroutine handlers, as tasks of the event loop that starts it. It polls for runs between
    `start` and `stop`, or a queue pushes them to `deliver`.

    Threads lease, renew and complete, as those of `Worker` do: a handler that blocks the event loop keeps its lease. A
    handler runs at least once for each attempt, and from its beginning after each wait: make its effects repeatable, or
    record them in a checkpoint. When it must stop, its task is cancelled.
    """

    def __init__(
        self,
        client: Client,
        *,
        worker_id: str,
        handlers: Mapping[str, AsyncPluginHandler | AsyncHandlerCall] | Sequence[AsyncStepCall],
        concurrency: int = 1,
        lease_seconds: float = 60.0,
        heartbeat_seconds: float | None = None,
        wait_seconds: float = 20.0,
        on_log: OnLog | None = None,
    ) -> None:
        """The options are those of `Worker`. Each run under way has a thread, which waits for its handler. `on_log` is
        called in threads."""
        self._worker = Worker(
            client,
            worker_id=worker_id,
            handlers=self._handlers(handlers),
            concurrency=concurrency,
            lease_seconds=lease_seconds,
            heartbeat_seconds=heartbeat_seconds,
            wait_seconds=wait_seconds,
            on_log=on_log,
        )
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"Async{self._worker!r}"

    @property
    def stopping(self) -> bool:
        """Whether the worker takes no new runs."""
        return self._worker.stopping

    def start(self) -> None:
        """Starts polling. Call it once, in a running event loop."""
        self._bind()
        self._worker.start()

    async def run(self) -> None:
        """Starts, and returns when the worker has stopped. If its task is cancelled, as by Control-C, it stops as
        `stop` does; a second cancellation ends the wait for that. A `SystemExit` or `KeyboardInterrupt` of a handler
        stops it too, and is raised here."""
        self._bind()
        try:
            await in_thread(self._worker.run, "svc-worker-run")
        except asyncio.CancelledError:
            await self.stop()
            raise

    async def stop(self, grace_seconds: float = GRACE_SECONDS) -> bool:
        """Takes no new run, except one that it has just asked for. Running handlers get the grace period to end; then
        their tasks are cancelled with the reason `stopping`, their runs get no result, and are given back. Returns
        whether all handlers have returned."""
        return await in_thread(partial(self._worker.stop, grace_seconds), "svc-worker-stop")

    async def deliver(self, run_id: str) -> Delivered:
        """Executes this run, for a message of a queue. A repeated or late message has no effect. Raises
        `WorkerBusyError` if all slots are in use or the worker stops, and `DeliveryError` or the error of the call if
        the queue should deliver the run again. If the caller is cancelled, the run goes on."""
        self._bind()
        return await in_thread(partial(self._worker.deliver, run_id), "svc-worker-delivery")

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _bind(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            raise SvcError("An AsyncWorker belongs to the event loop that used it first.")
        self._loop = loop

    def _handlers(self, given: object) -> dict[str, PluginHandler | HandlerCall]:
        found = cast("list[tuple[str, Any]]", named(given, "coroutine functions"))
        if len({name for name, _ in found}) < len(found):
            raise SvcError("handlers has an id twice.")
        return {name: self._handler(name, handler) for name, handler in found}

    def _handler(self, name: str, handler: Any) -> PluginHandler | HandlerCall:
        call = handler.call if isinstance(handler, AsyncPluginHandler) else handler
        if not is_coroutine_function(call):
            raise SvcError(f"The handler {name!r} is not a coroutine function: a Worker executes functions.")
        blocking = _Blocking(partial(self._carry_out, call), getattr(call, "svc_step_version", None))
        return (
            PluginHandler(handler.plugin_id, blocking)
            if isinstance(handler, AsyncPluginHandler)
            else blocking
        )

    def _carry_out(self, call: AsyncHandlerCall, context: RunContext) -> object:
        """The handler of the threads."""
        loop = cast("asyncio.AbstractEventLoop", self._loop)
        ending = carried_out(loop, partial(call, AsyncRunContext(context)), context.cancellation)
        if ending is None:
            # No handler failed: the run is given back without a result.
            self._worker._end("The worker stops: its event loop ends.")
            raise asyncio.CancelledError
        value, error = ending
        if error is not None:
            raise error
        return value
