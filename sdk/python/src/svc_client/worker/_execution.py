"""One run, from its lease to its end."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from .._body import json_text
from .._errors import APIAbortError, APIStatusError
from .._notices import own_use
from ._context import RunContext
from ._endings import (
    ORDERS,
    RunCancelled,
    RunFailure,
    RunSuspended,
    cancelled,
    failed,
    failure_result,
    raised,
    succeeded,
)
from ._options import PluginHandler
from ._repeat import bare, is_of_content, says_lost, until_known

if TYPE_CHECKING:
    from .._cancellation import Cancellation
    from .._client import Client
    from .._generated import models
    from .._options import CallOptions
    from .._world import World
    from ._heartbeat import Heartbeat
    from ._lease import HeldLease
    from ._log import Log
    from ._next_runs import NextRuns
    from ._options import HandlerCall

# A stop waits this long for the answer to a release.
_RELEASE_SECONDS = 5.0

Outcome: TypeAlias = Literal["executed", "suspended", "lost", "abandoned", "unknown"]
"""`unknown`: the completion was refused, or its outcome is unknown."""


class Execution:
    """Executes leases. The handler of a lease runs in the calling thread."""

    def __init__(
        self,
        client: Client,
        heartbeat: Heartbeat,
        handlers: Mapping[str, PluginHandler | HandlerCall],
        world: World,
        log: Log,
        stopping: Cancellation,
        next_runs: NextRuns,
    ) -> None:
        """`stopping`: whether the worker stops."""
        self._client = client
        self._heartbeat = heartbeat
        self._handlers = handlers
        self._world = world
        self._log = log
        self._stopping = stopping
        self._next_runs = next_runs

    def carry_out(self, held: HeldLease) -> Outcome:
        """Raises what the handler raised if that addresses the program, after the attempt has ended."""
        try:
            with self._heartbeat.keeping(held):
                ending = self._ending_of(held)
            outcome = self._conclude(held, ending)
            if held.order is not None:
                raise held.order
            return outcome
        finally:
            self.give_back(held)
            held.end()

    def give_back(self, held: HeldLease) -> None:
        """Gives the run of an abandoned lease back, so that another worker need not wait for the lease to expire."""
        if not held.claim_giving_back():
            return
        options: CallOptions = {"timeout": _RELEASE_SECONDS, "max_retries": 0}
        try:
            with own_use():
                bare(lambda: self._client.release_external_execution_lease(held.proof(), options=options))
        except ORDERS:
            raise
        except BaseException as error:
            text = "The run was not given back: its lease has ended, or expires."
            self._log.say("info", text, run=held.run, error=error)
        else:
            self._log.say("info", "The run was given back.", run=held.run)

    def give_back_unbegun(self, held: HeldLease) -> None:
        """Gives back a run that came when the worker already stopped."""
        held.abandon("stopping")
        self.give_back(held)
        held.end()

    def give_back_all(self, left: Sequence[HeldLease]) -> None:
        """Gives these runs back at the same time: a service that does not answer would delay the stop for each."""
        returns = [threading.Thread(target=self.give_back, args=(each,), daemon=True) for each in left]
        for each in returns:
            each.start()
        for each in returns:
            each.join()

    def _ending_of(self, held: HeldLease) -> models.ExecutionRunResult | None:
        """The result of the run; None if the lease is already over."""
        handler = self._handlers.get(held.run["handlerId"])
        if handler is None:
            return failed("handler_missing", "The worker has no such handler.")
        if isinstance(handler, PluginHandler):
            if held.run["pluginId"] != handler.plugin_id:
                return failed("plugin_mismatch", "The handler of the worker belongs to another plugin.")
            handler = handler.call
        return self._call(handler, held)

    def _call(self, handler: HandlerCall, held: HeldLease) -> models.ExecutionRunResult | None:
        try:
            ending = succeeded(handler(RunContext(held, self._client, self._world, self._log)))
        except RunSuspended:
            return None
        except RunFailure as failure:
            self._log.say("warning", "The handler failed.", run=held.run, error=failure)
            ending = failure_result(failure, knows_retryable=held.knows_steps)
        except RunCancelled:
            return cancelled()
        except BaseException as error:
            return self._ending_after(error, held)
        try:
            json_text(ending)
        except ORDERS:
            raise
        except BaseException as error:
            # Check the JSON here: a later error would not be the handler's, and another attempt would fail too.
            self._log.say("error", "The result cannot be written as JSON.", run=held.run, error=error)
            return failed("validation", "The result cannot be written as JSON")
        return ending

    def _ending_after(self, error: BaseException, held: HeldLease) -> models.ExecutionRunResult | None:
        if isinstance(error, ORDERS):
            held.order = error
        if isinstance(error, KeyboardInterrupt):
            # The user may have meant the program alone, so the run does not fail: its lease expires, which counts.
            return None
        if held.cancellation.reason is not None:
            self._log.say("info", "The handler stopped.", run=held.run, error=error)
            return cancelled()
        if self._stopping.cancelled and not isinstance(error, (Exception, SystemExit)):
            # Such as a task that is cancelled because the worker stops: no fault of the handler.
            self._log.say("info", "The handler stopped.", run=held.run, error=error)
            held.abandon("stopping")
            return None
        self._log.say("error", "The handler failed.", run=held.run, error=error)
        return raised(error, shows_text=held.shows_handler_errors)

    def _conclude(self, held: HeldLease, ending: models.ExecutionRunResult | None) -> Outcome:
        if ending is not None and held.begin_completion():
            return self._complete(held, ending)
        state = held.state
        if state == "suspended":
            self._log.say("info", "The run is parked.", run=held.run)
            return "suspended"
        if state == "abandoned":
            self._log.say("warning", "The run was given up.", run=held.run)
            return "abandoned"
        # A suspension counts only if a wait of the context raised it.
        return "lost" if state == "lost" else "unknown"

    def _complete(self, held: HeldLease, ending: models.ExecutionRunResult) -> Outcome:
        try:
            run = self._send_result(held, ending)
        except APIAbortError:
            self._log.say("error", "The completion was given up.", run=held.run)
        except ORDERS:
            raise
        except BaseException as error:
            what = (
                "The lease was over before the completion."
                if says_lost(error)
                else "The run could not be completed; its lease expires."
            )
            self._log.say("error", what, run=held.run, error=error)
        else:
            self._log.say("info", f"The run is {run['status']}.", run=run)
            return "executed"
        return "unknown"

    def _send_result(self, held: HeldLease, ending: models.ExecutionRunResult) -> models.ExecutionRun:
        """If the service refuses the content of the result, a retry would fail too: the run ends with a failure."""
        try:
            return self._sent(held, ending)
        except APIStatusError as error:
            if not _carries_content(ending) or not is_of_content(error):
                raise
            self._log.say("error", "The service refused the result.", run=held.run, error=error)
        return self._sent(held, failed("validation", "The result was refused."))

    def _sent(self, held: HeldLease, ending: models.ExecutionRunResult) -> models.ExecutionRun:
        """Retries the completion until its outcome is known: with the same token it is idempotent."""
        proof = held.proof()
        request: models.ExecutionExternalWorkerCompletionRequest = {
            "leaseKey": proof["leaseKey"],
            "leaseToken": proof["leaseToken"],
            "workerId": proof["workerId"],
            "result": ending,
        }

        wish = self._next_runs.wish(held)

        def send(timeout: float) -> models.ExecutionRun:
            nonlocal wish
            # A repeat does not ask for a next run: if its answer is lost, that run is blocked until its lease ends.
            lease_next, wish = wish, None
            options: CallOptions = {"timeout": timeout, "max_retries": 0, "cancellation": held.given_up}
            return self._next_runs.complete(held, request, lease_next, options)

        return until_known(held, self._world, send)


def _carries_content(ending: models.ExecutionRunResult) -> bool:
    return "result" in ending or "statusDetails" in ending
