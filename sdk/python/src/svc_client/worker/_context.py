"""The context of a handler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .._errors import APIAbortError, APIStatusError, ConflictError, NotFoundError, SvcError
from ._endings import RunCancelled, RunSuspended
from ._moments import moment_in, utc
from ._repeat import bare, may_pass, says_lost, until_known

if TYPE_CHECKING:
    from datetime import datetime

    from .._client import Client
    from .._generated import models
    from .._options import CallOptions
    from .._world import World
    from ._cancelled import RunCancellation
    from ._lease import HeldLease
    from ._log import Log

T = TypeVar("T")

# A call is given up after this time, or after the length of a lease if that is longer.
_GIVE_UP_SECONDS = 60.0

_OVER = "The handler of this context has returned: the context can no longer change the run."


class RunContext:
    """One attempt of a run, for its handler. The threads of a handler may share it. Each call is retried while the
    lease holds; writes carry an id, so that the service makes each once. If the outcome of a call stays unknown, the
    call raises `RunCancelled`, and the next lease continues the run."""

    def __init__(self, held: HeldLease, client: Client, world: World, log: Log) -> None:
        self._held = held
        self._client = client
        self._world = world
        self._log = log

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
        """Adds a line to the history of the run. It is dropped, with a warning in the log, where its tenant may store
        nothing more."""
        request: models.ExecutionExternalWorkerEventRequest = {
            **self._held.proof(),
            "writeId": self._held.next_write_id(),
            "message": message,
            "type": event_type,
            "severity": severity,
            "details": details,
        }
        try:
            self._repeated(
                lambda options: self._client.record_external_execution_lease_event(request, options=options)
            )
        except ConflictError as error:
            # A line of the history is not worth the run.
            if error.code != "quota_exceeded":
                raise
            self._log.say("warning", "An event was dropped.", run=self.run, error=error)

    def put_artifact(self, artifact: models.ExecutionArtifactWrite) -> models.ExecutionArtifact:
        """Stores an artifact of the run."""

        request: models.ExecutionExternalWorkerArtifactRequest = {
            **self._held.proof(),
            "writeId": self._held.next_write_id(),
            "artifact": artifact,
        }
        return self._repeated(
            lambda options: self._client.put_external_execution_lease_artifact(request, options=options)
        )

    def checkpoint(
        self,
        key: str,
        content: object,
        *,
        metadata: Mapping[str, str] | None = None,
        event: models.ExecutionCheckpointEventWrite | None = None,
    ) -> models.ExecutionCheckpoint:
        """Stores state, any JSON, for the next attempt. The last write of a key wins. `event`, which is a preview, adds
        a line to the history in the same transaction."""
        write: models.ExecutionCheckpointWrite = {"key": key, "content": content, "metadata": metadata or {}}
        more = {} if event is None else {"event": event}
        named = {**self._held.proof(), "writeId": self._held.next_write_id(), "checkpoint": write, **more}
        request = cast("models.ExecutionExternalWorkerCheckpointRequest", named)
        return self._repeated(
            lambda options: self._client.put_external_execution_lease_checkpoint(request, options=options)
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
        until = (
            None
            if timeout_seconds is None
            else moment_in(self._world.now(), timeout_seconds, "timeout_seconds")
        )
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
            raise SvcError("A timer needs either after_seconds or at.")
        if at is None:
            moment = moment_in(self._world.now(), after_seconds, "after_seconds")
        elif at.tzinfo is None:
            raise SvcError("at must be a datetime with an offset from UTC.")
        else:
            moment = utc(at)
        return self._wait({"kind": "timer", "name": name, "fireAtUtc": moment, "payload": payload})

    def _wait(self, request: dict[str, Any]) -> models.ExecutionWaitResult:
        held = self._held
        named = {**held.proof(), "waitId": held.next_write_id(), **request}
        wanted = cast("models.ExecutionExternalWorkerWaitRequest", named)
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

    def _repeated(self, send: Callable[[CallOptions], T]) -> T:
        # A handler that waits for one call as long as a lease lasts blocks its slot: another execution may do better.
        seconds = max(self._held.seconds, _GIVE_UP_SECONDS)

        def sent(timeout: float) -> T:
            return send(self._options(timeout))

        return self._under_lease(lambda: until_known(self._held, self._world, sent, seconds=seconds))

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
        except SvcError as error:
            if may_pass(error):
                # The outcome stays unknown, and no fault of the handler: the next lease continues the run.
                self._held.lose()
                self._check_open()
                raise
            if not says_lost(error):
                raise
            # An earlier answer may be lost: the service kept the wait, and the lease ended with it.
            if self._held.parking and _how(error) == "suspended":
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


def _how(error: BaseException) -> object:
    """How the lease ended, by the answer of the service."""
    return (error.problem or cast("Any", {})).get("how") if isinstance(error, APIStatusError) else None
