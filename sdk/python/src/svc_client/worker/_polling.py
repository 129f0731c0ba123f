"""Leases runs from the service."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, cast

from .._cancellation import Cancellation
from .._errors import APIAbortError, APIConnectionError, APITimeoutError
from .._waiting import PAUSE_SECONDS_MAX, PAUSE_SECONDS_MIN
from ._endings import ORDERS
from ._lease import HeldLease
from ._repeat import CALL_SECONDS_MAX, bare, pause_after
from ._unknown_handlers import UnknownHandlers

if TYPE_CHECKING:
    from .._client import Client
    from .._generated import models
    from .._options import CallOptions
    from .._world import World
    from ._log import Log
    from ._options import Settings

# The longest pause while the service is down; the average pause is half of it.
_FAILURE_SECONDS_MAX = 30.0

# On stop, wait this long for a fresh lease request: the service may have leased a run already, and an aborted request
# would block that run until its lease ends. An older request probably waits without a run.
_ANSWER_SECONDS = 1.0


class Polling:
    """Leases runs for the threads of a worker. One thread at a time waits at the service, and the others wait here: the
    service limits its waiting calls."""

    def __init__(
        self, client: Client, settings: Settings, stopping: Cancellation, world: World, log: Log
    ) -> None:
        self._client = client
        self._settings = settings
        self._stopping = stopping
        self._world = world
        self._log = log
        self._unknown = UnknownHandlers(log)
        self._given_up = Cancellation()
        self._asked = world.now() - _ANSWER_SECONDS
        self._turn = threading.Lock()
        self._failures = 0
        self._idle_pause = PAUSE_SECONDS_MIN

    def runs(self, give_back: Callable[[HeldLease], None]) -> Generator[HeldLease, None, None]:
        """The runs of one thread until the worker stops: those that come with completions, or else those of requests.
        A run that comes when the worker already stopped is given back."""
        held: HeldLease | None = None
        while not self._stopping.cancelled:
            held = held or self.next()
            if held is not None:
                yield held
                held = held.next
        if held is not None:
            give_back(held)

    def next(self) -> HeldLease | None:
        """The next run; None without one, and None after a failure and its pause."""
        with self._turn:
            if self._stopping.cancelled:
                return None
            begun = self._world.now()
            try:
                held = self.lease(None)
            except APIAbortError:
                return None
            except ORDERS:
                raise
            except BaseException as error:
                self._failures += 1
                pause = pause_after(self._failures, error, self._world.random(), _FAILURE_SECONDS_MAX)
                self._log.say("warning", self._failure(error, pause), error=error)
                self._world.sleep(pause, self._stopping.event)
                return None
            self._failures = 0
            if held is None:
                self._rest(begun)
            else:
                self._idle_pause = PAUSE_SECONDS_MIN
            return held

    def _failure(self, error: BaseException, pause: float) -> str:
        if not isinstance(error, APIConnectionError) or isinstance(error, APITimeoutError):
            return "No run could be leased."
        next_try = f"next try in {pause:.1f} s"
        return f"No connection to {self._client.base_url} (base_url / SVC_BASE_URL); {next_try}."

    def _rest(self, begun: float) -> None:
        """Pauses after an immediate answer: the service has too many waiting calls, or the worker asked for no wait."""
        waited = self._world.now() - begun
        if self._settings.wait_seconds > 0 and waited >= self._settings.wait_seconds / 2:
            self._idle_pause = PAUSE_SECONDS_MIN
            return
        pause = self._idle_pause
        self._idle_pause = min(2 * pause, PAUSE_SECONDS_MAX)
        self._world.sleep(pause, self._stopping.event)

    def soon(self) -> float:
        """How long a stop waits for the answer to the last lease request, in seconds."""
        return max(0.0, self._asked + _ANSWER_SECONDS - self._world.now())

    def give_up(self) -> None:
        """Aborts the lease requests."""
        self._given_up.cancel()

    def lease(self, run_id: str | None) -> HeldLease | None:
        """Leases any run, or the given one; None if the service has none."""
        settings, sent = self._settings, self._world.now()
        self._asked = sent
        # Check after the request is registered: a concurrent stop either sees the request, or is seen here.
        if self._stopping.cancelled:
            raise APIAbortError("The worker stops.")
        wait = settings.wait_seconds if run_id is None else 0.0
        request: models.ExecutionExternalWorkerLeaseRequest = {
            "workerId": settings.worker_id,
            "handlerIds": [*settings.handlers],
            "runId": run_id,
            "ttlSeconds": settings.lease_seconds,
            "waitSeconds": wait,
        }
        options: CallOptions = {
            "timeout": wait + CALL_SECONDS_MAX,
            "max_retries": 0,
            "cancellation": self._given_up,
        }
        calls = self._client.with_raw_response

        def send(more: dict[str, Any]) -> Any:
            whole = cast("models.ExecutionExternalWorkerLeaseRequest", {**request, **more})
            return bare(lambda: calls.lease_external_execution_run(whole, options=options))

        response = settings.wish.made(send)
        self._unknown.heard(response.headers.get("svc-unknown-handlers"))
        answer = response.data
        if answer is None:
            return None
        # The lease starts at the claim. The claim is not later than the answer, and not later than the end of the wait.
        claimed = min(self._world.now(), sent + wait)
        seconds = settings.lease_seconds
        held = HeldLease(self._world, answer, seconds=seconds, until=claimed + seconds)
        self._log.say("info", "A run was leased.", run=held.run)
        return held
