"""Asking for runs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .._cancellation import Cancellation
from .._errors import APIAbortError
from .._waiting import PAUSE_SECONDS_MAX, PAUSE_SECONDS_MIN
from ._lease import HeldLease
from ._repeat import CALL_SECONDS_MAX, bare, pause_after

if TYPE_CHECKING:
    from .._client import Client
    from .._generated import models
    from .._options import CallOptions
    from .._world import World
    from ._log import Log
    from ._options import Settings

# A service that is away for long is not asked more often than this, on average twice as often.
_FAILURE_SECONDS_MAX = 30.0

# A question that has been asked for less is mostly about to be answered with a run, which nobody would have until its
# lease is over; one that has been asked for longer waits for a run that is not there.
_ANSWER_SECONDS = 1.0


class Polling:
    """Leases for the threads of a worker. One of them waits at the service at a time: the others wait for their turn
    here, since each call that waits there takes the place of another's."""

    def __init__(
        self, client: Client, settings: Settings, stopping: Cancellation, world: World, log: Log
    ) -> None:
        self._client = client
        self._settings = settings
        self._stopping = stopping
        self._world = world
        self._log = log
        self._given_up = Cancellation()
        self._asked = world.now() - _ANSWER_SECONDS
        self._turn = threading.Lock()
        self._failures = 0
        self._idle_pause = PAUSE_SECONDS_MIN

    def next(self) -> HeldLease | None:
        """The next run; None where there was none, and after a failure, when time has passed."""
        with self._turn:
            if self._stopping.cancelled:
                return None
            begun = self._world.now()
            try:
                held = self.lease(None)
            except APIAbortError:
                return None
            except Exception as error:
                self._failures += 1
                self._log.say("warning", "No run could be leased.", error=error)
                pause = pause_after(self._failures, error, self._world.random(), _FAILURE_SECONDS_MAX)
                self._world.sleep(pause, self._stopping.event)
                return None
            self._failures = 0
            if held is None:
                self._rest(begun)
            else:
                self._idle_pause = PAUSE_SECONDS_MIN
            return held

    def _rest(self, begun: float) -> None:
        """Where the service answered at once, because as many calls wait there as may, or was asked to."""
        waited = self._world.now() - begun
        if self._settings.wait_seconds > 0 and waited >= self._settings.wait_seconds / 2:
            self._idle_pause = PAUSE_SECONDS_MIN
            return
        pause = self._idle_pause
        self._idle_pause = min(2 * pause, PAUSE_SECONDS_MAX)
        self._world.sleep(pause, self._stopping.event)

    def soon(self) -> float:
        """Seconds that whoever stops waits for the answers to what was asked last."""
        return max(0.0, self._asked + _ANSWER_SECONDS - self._world.now())

    def give_up(self) -> None:
        """Breaks off what is asked."""
        self._given_up.cancel()

    def lease(self, run_id: str | None) -> HeldLease | None:
        """A run, or this one; None where there is none to be had."""
        settings, sent = self._settings, self._world.now()
        self._asked = sent
        # After that was said: whoever stops either hears of the question, or is heard of here.
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
        answer = bare(lambda: self._client.lease_external_execution_run(request, options=options))
        if answer is None:
            return None
        # It was claimed before the answer came, and before the time to wait for it was over.
        claimed = min(self._world.now(), sent + wait)
        seconds = settings.lease_seconds
        held = HeldLease(self._world, answer, seconds=seconds, until=claimed + seconds)
        self._log.say("info", "A run was leased.", run=held.run)
        return held
