"""The context of a coroutine handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from .._in_thread import in_thread

if TYPE_CHECKING:
    from datetime import datetime

    from .._generated import models
    from ._cancelled import RunCancellation
    from ._context import RunContext

T = TypeVar("T")


class AsyncRunContext:
    """One attempt of a run, for its coroutine handler. Its calls are those of `RunContext`, awaited: each is retried
    while the lease holds. A call whose await is cancelled may take effect all the same."""

    def __init__(self, context: RunContext) -> None:
        self._context = context

    def __repr__(self) -> str:
        return f"AsyncRunContext(run={self.run['id']!r})"

    @property
    def run(self) -> models.ExecutionRun:
        """The run in its last known state."""
        return self._context.run

    @property
    def payload(self) -> models.JsonValue:
        """The payload of the run."""
        return self._context.payload

    @property
    def cancellation(self) -> RunCancellation:
        """Set when the handler must stop, with the `reason`. The task of the handler is cancelled then, once."""
        return self._context.cancellation

    def check(self) -> None:
        """Raises `RunCancelled` if the handler must stop. Call it in a handler that catches its cancellation."""
        self._context.check()

    async def report(self, update: models.ExecutionRunUpdate) -> models.ExecutionRun:
        """Reports progress. Absent values stay as they are."""
        return await self._call(lambda: self._context.report(update))

    async def record_event(
        self,
        message: str,
        *,
        event_type: str = "log",
        severity: str = "info",
        details: Mapping[str, object] | None = None,
    ) -> None:
        """Adds a line to the history of the run. It is dropped, with a warning in the log, where its tenant may store
        nothing more."""
        write = partial(self._context.record_event, event_type=event_type, severity=severity, details=details)
        await self._call(lambda: write(message))

    async def put_artifact(self, artifact: models.ExecutionArtifactWrite) -> models.ExecutionArtifact:
        """Stores an artifact of the run."""
        return await self._call(lambda: self._context.put_artifact(artifact))

    async def checkpoint(
        self,
        key: str,
        content: object,
        *,
        metadata: Mapping[str, str] | None = None,
        event: models.ExecutionCheckpointEventWrite | None = None,
    ) -> models.ExecutionCheckpoint:
        """Stores state, any JSON, for the next attempt. The last write of a key wins. `event`, which is a preview, adds
        a line to the history in the same transaction."""
        write = partial(self._context.checkpoint, metadata=metadata, event=event)
        return await self._call(lambda: write(key, content))

    async def read_checkpoint(self, key: str) -> models.ExecutionCheckpoint | None:
        """The checkpoint of the key, from this or an earlier attempt; None without one."""
        return await self._call(lambda: self._context.read_checkpoint(key))

    async def wait_for_external_event(
        self, name: str, *, timeout_seconds: float | None = None
    ) -> models.ExecutionWaitResult:
        """The outcome of the wait: the raised `event`, or `timed_out`. Without an outcome the call does not return: the
        run is parked, and a worker calls the handler again from its beginning when the outcome is known."""
        wait = partial(self._context.wait_for_external_event, timeout_seconds=timeout_seconds)
        return await self._call(lambda: wait(name))

    async def wait_for_timer(
        self,
        name: str,
        *,
        after_seconds: float | None = None,
        at: datetime | None = None,
        payload: object = None,
    ) -> models.ExecutionWaitResult:
        """As `wait_for_external_event`, until a moment: `after_seconds` after the first call, or `at`, a datetime with
        an offset. The outcome returns the `payload`."""
        wait = partial(self._context.wait_for_timer, after_seconds=after_seconds, at=at, payload=payload)
        return await self._call(lambda: wait(name))

    async def _call(self, call: Callable[[], T]) -> T:
        return await in_thread(call, f"svc-call-{self.run['id']}")


AsyncHandlerCall: TypeAlias = Callable[[AsyncRunContext], Awaitable[object]]
"""Executes one attempt of a run. Its return value, any JSON, is the result; None keeps an earlier reported result."""


@dataclass(frozen=True)
class AsyncPluginHandler:
    """A coroutine handler of a plugin: a run of another plugin fails with the class `plugin_mismatch`."""

    plugin_id: str
    call: AsyncHandlerCall
