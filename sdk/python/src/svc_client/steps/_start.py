"""Typed starts of runs, and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from .._errors import SvcError
from ._handler import StepDefinition
from ._values import json_copy

if TYPE_CHECKING:
    from .._async_client import AsyncClient
    from .._client import Client
    from .._generated import models

Input = TypeVar("Input")
Output = TypeVar("Output")


class RunFailed(SvcError):
    """A run that did not succeed."""

    def __init__(self, run: models.ExecutionRun) -> None:
        more = "." if run["error"] is None else f": {run['error']}"
        super().__init__(f"The run {run['id']} of {run['handlerId']} ended as {run['status']}{more}")
        self.run = run


class StartedRun(Generic[Output]):
    """A run of a handler whose types are known."""

    def __init__(self, client: Client, run: models.ExecutionRun) -> None:
        self._client = client
        self.run = run
        """The run as it was started."""
        self.id: str = run["id"]

    def result(self, *, wait_timeout: float | None = None) -> Output:
        """Waits for the end. Raises `RunFailed` unless the run succeeds."""
        result: Output = _result_of(self._client.wait_for_execution_run(self.id, wait_timeout=wait_timeout))
        return result

    def raise_event(self, name: str, payload: object = None) -> None:
        """Raises an event for the run."""
        self._client.raise_execution_event(self.id, _event(name, payload))


class AsyncStartedRun(Generic[Output]):
    """As `StartedRun`, awaited."""

    def __init__(self, client: AsyncClient, run: models.ExecutionRun) -> None:
        self._client = client
        self.run = run
        """The run as it was started."""
        self.id: str = run["id"]

    async def result(self, *, wait_timeout: float | None = None) -> Output:
        """Waits for the end. Raises `RunFailed` unless the run succeeds."""
        result: Output = _result_of(
            await self._client.wait_for_execution_run(self.id, wait_timeout=wait_timeout)
        )
        return result

    async def raise_event(self, name: str, payload: object = None) -> None:
        """Raises an event for the run."""
        await self._client.raise_execution_event(self.id, _event(name, payload))


def start(
    client: Client, handler: StepDefinition[Input, Output], given: Input, **more: Any
) -> StartedRun[Output]:
    """Starts a run of a handler. `more`: members of the request, such as `idempotencyKey` and `scope`."""
    return StartedRun(client, client.start_execution_run(_request(handler, given, more)))


async def start_async(
    client: AsyncClient, handler: StepDefinition[Input, Output], given: Input, **more: Any
) -> AsyncStartedRun[Output]:
    """As `start`, with the client for coroutines."""
    return AsyncStartedRun(client, await client.start_execution_run(_request(handler, given, more)))


def _request(
    handler: StepDefinition[Any, Any], given: object, more: dict[str, Any]
) -> models.ExecutionRunRequest:
    return cast("models.ExecutionRunRequest", {**more, "handlerId": handler.id, "payload": json_copy(given)})


def _event(name: str, payload: object) -> models.ExecutionExternalEventRequest:
    return {"name": name, "payload": json_copy(payload)}


def _result_of(ended: models.ExecutionRun) -> Any:
    if ended["status"] != "succeeded":
        raise RunFailed(ended)
    return ended["result"]
