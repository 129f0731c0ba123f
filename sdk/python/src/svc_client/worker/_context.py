"""The context of a handler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .._errors import APIAbortError, APIStatusError, NotFoundError, SvcError
from ._endings import RunCancelled, RunSuspended
from ._repeat import CALL_SECONDS_MAX, bare, says_lost, until_known

if TYPE_CHECKING:
    from .._client import Client
    from .._generated import models
    from .._options import CallOptions
    from .._world import World
    from ._cancelled import RunCancellation
    from ._lease import HeldLease

T = TypeVar("T")

_OVER = "The handler of this context has returned: nothing more can be said of its run."


class RunContext:
    """One attempt of a run, for its handler. The threads of a handler may share it. `report`, `checkpoint`,
    `read_checkpoint` and the waits are idempotent: they are retried while the lease holds. `record_event` and
    `put_artifact` add an entry each time, and are sent once."""

    def __init__(self, held: HeldLease, client: Client, world: World) -> None:
        self._held = held
        self._client = client
        self._world = world

    def __repr__(self) -> str:
        return f"RunContext(run={self.run['id']!r})"

    @property
    def run(self) -> models.ExecutionRun:
        """The run in its last known state."""
        return self._held.run

    @property
    def payload(self) -> models.JsonValue:
        """The payload of the run."""
        return self._held.run["payload"]

    @property
    def cancellation(self) -> RunCancellation:
        """Set when the handler must stop, with the `reason`. Pass it to client calls to end those too."""
        return self._held.cancellation

    def check(self) -> None:
        """Raises `RunCancelled` if the handler must stop. Call it between steps."""
        reason = self.cancellation.reason
        if reason is not None:
            raise RunCancelled(reason)

    def report(self, update: models.ExecutionRunUpdate) -> models.ExecutionRun:
        """Reports progress. Absent values stay as they are."""

        def send(options: CallOptions) -> models.ExecutionRun:
            return self._client.report_external_execution_lease(
                {**self._held.proof(), "update": update}, options=options
            )

        run = self._repeated(send)
        self._held.seen(run)
        return run

    def record_event(
        self,
        message: str,
        *,
        event_type: str = "log",
        severity: str = "info",
        details: Mapping[str, object] | None = None,
    ) -> None:
        """Adds a line to the history of the run."""
        request: models.ExecutionExternalWorkerEventRequest = {
            **self._held.proof(),
            "message": message,
            "type": event_type,
            "severity": severity,
            "details": details,
        }
        self._once(
            lambda options: self._client.record_external_execution_lease_event(request, options=options)
        )

    def put_artifact(self, artifact: models.ExecutionArtifactWrite) -> models.ExecutionArtifact:
        """Stores an artifact of the run."""

        def send(options: CallOptions) -> models.ExecutionArtifact:
            return self._client.put_external_execution_lease_artifact(
                {**self._held.proof(), "artifact": artifact}, options=options
            )

        return self._once(send)

    def checkpoint(
        self, key: str, content: object, *, metadata: Mapping[str, str] | None = None
    ) -> models.ExecutionCheckpoint:
        """Stores state, any JSON, for the next attempt. The last write of a key wins."""
        write: models.ExecutionCheckpointWrite = {"key": key, "content": content, "metadata": metadata or {}}
        return self._repeated(
            lambda options: self._client.put_external_execution_lease_checkpoint(
                {**self._held.proof(), "checkpoint": write}, options=options
            )
        )

    def read_checkpoint(self, key: str) -> models.ExecutionCheckpoint | None:
        """The checkpoint of the key, from this or an earlier attempt; None without one."""
        try:
            return self._repeated(
                lambda options: self._client.get_external_execution_lease_checkpoint(
                    {**self._held.proof(), "key": key}, options=options
                )
            )
        except NotFoundError as error:
            # A service without the route answers another code.
            if error.code == "not_found":
                return None
            raise

    def wait_for_external_event(
        self, name: str, *, timeout_seconds: float | None = None
    ) -> models.ExecutionWaitResult:
        """The outcome of the wait: the raised `event`, or `timed_out`. Without an outcome the call does not return: the
        run is parked, and a worker calls the handler again from its beginning when the outcome is known."""
        until = None if timeout_seconds is None else self._moment_in(timeout_seconds, "timeout_seconds")
        return self._wait({"kind": "external_event", "name": name, "timeoutAtUtc": until})

    def wait_for_timer(
        self,
        name: str,
        *,
        after_seconds: float | None = None,
        at: datetime | None = None,
        payload: object = None,
    ) -> models.ExecutionWaitResult:
        """As `wait_for_event`, until a moment: `seconds` after the first call, or `at`, a datetime with an offset. The
        outcome returns the `payload`."""
        if (after_seconds is None) == (at is None):
            raise SvcError("A timer needs one of after_seconds and at.")
        if at is None:
            moment = self._moment_in(after_seconds, "after_seconds")
        elif at.tzinfo is None:
            raise SvcError("at is a moment: a datetime with its offset from UTC.")
        else:
            moment = _utc(at)
        return self._wait({"kind": "timer", "name": name, "fireAtUtc": moment, "payload": payload})

    def _wait(self, request: dict[str, Any]) -> models.ExecutionWaitResult:
        held = self._held
        wanted = cast("models.ExecutionExternalWorkerWaitRequest", {**held.proof(), **request})
        with held.is_parking():
            answer = self._repeated(
                lambda options: self._client.wait_external_execution_lease(wanted, options=options)
            )
        outcome = answer["outcome"]
        if answer["suspended"] or outcome is None:
            held.suspend()
            raise RunSuspended
        held.seen(answer["run"])
        return outcome

    def _moment_in(self, seconds: object, what: str) -> str:
        if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not 0 <= seconds < 1e9:
            raise SvcError(f"{what} is a number of seconds from 0.")
        return _utc(datetime.fromtimestamp(self._world.now(), timezone.utc) + timedelta(seconds=seconds))

    def _repeated(self, send: Callable[[CallOptions], T]) -> T:
        return self._under_lease(
            lambda: until_known(self._held, self._world, lambda left: send(self._options(left)))
        )

    def _once(self, send: Callable[[CallOptions], T]) -> T:
        return self._under_lease(
            lambda: send(self._options(max(0.001, min(CALL_SECONDS_MAX, self._held.left()))))
        )

    def _options(self, timeout: float) -> CallOptions:
        return {"timeout": timeout, "max_retries": 0, "cancellation": self._held.given_up}

    def _under_lease(self, call: Callable[[], T]) -> T:
        """Translates a lost lease into the exception of the handler's call."""
        self._check_open()
        try:
            return bare(call)
        except APIAbortError:
            self._check_open()
            raise
        except APIStatusError as error:
            if not says_lost(error):
                raise
            # An earlier answer may be lost: the service kept the wait, and the lease ended with it.
            if self._held.parking and (error.problem or cast("Any", {})).get("how") == "suspended":
                self._held.suspend()
            else:
                self._held.lose()
            self._check_open()
            raise

    def _check_open(self) -> None:
        state = self._held.state
        if state == "suspended":
            raise RunSuspended
        if state == "lost":
            raise RunCancelled("lease_lost")
        if state in ("completing", "over"):
            raise SvcError(_OVER)


def _utc(moment: datetime) -> str:
    text = moment.astimezone(timezone.utc).isoformat(timespec="milliseconds")
    return f"{text.removesuffix('+00:00')}Z"
