"""The next run of a worker, asked for with the completion of the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from .._errors import APIStatusError
from ._lease import HeldLease
from ._repeat import is_of_content

if TYPE_CHECKING:
    from .._cancellation import Cancellation
    from .._client import Client
    from .._generated import models
    from .._options import CallOptions
    from .._world import World
    from ._log import Log
    from ._options import Settings


class NextRuns:
    """Completes runs, and asks for the next run in the same request."""

    def __init__(
        self, client: Client, settings: Settings, stopping: Cancellation, world: World, log: Log
    ) -> None:
        self._client = client
        self._settings = settings
        self._stopping = stopping
        self._world = world
        self._log = log
        # A server of release 0.5.0 refuses the request for a next run.
        self._known = True

    def wish(self, held: HeldLease) -> models.ExecutionExternalWorkerNextLeaseRequest | None:
        """The request for the next run; None if the worker takes none."""
        stops = self._stopping.cancelled or held.order is not None
        if stops or not self._known or not held.takes_next:
            return None
        wish: dict[str, Any] = {
            "handlerIds": [*self._settings.handlers],
            "ttlSeconds": self._settings.lease_seconds,
            **self._settings.wish.members,
        }
        return cast("models.ExecutionExternalWorkerNextLeaseRequest", wish)

    def complete(
        self,
        held: HeldLease,
        request: models.ExecutionExternalWorkerCompletionRequest,
        lease_next: models.ExecutionExternalWorkerNextLeaseRequest | None,
        options: CallOptions,
    ) -> models.ExecutionRun:
        """Completes the run; `held.next` is the next one if the service leased one."""
        if lease_next is None:
            return self._client.complete_external_execution_lease(request, options=options)
        sent = self._world.now()
        try:
            run = self._client.complete_external_execution_lease(
                {**request, "leaseNext": lease_next}, options=options
            )
        except APIStatusError as error:
            if not is_of_content(error):
                raise
            refused = error.status
        else:
            # The lease holds a token: nothing that is logged may show it.
            lease = run.pop("next", None)
            if lease is not None:
                seconds = self._settings.lease_seconds
                held.next = HeldLease(self._world, lease, seconds=seconds, until=sent + seconds)
                self._log.say("info", "A run was leased.", run=held.next.run)
            return run
        run = self._client.complete_external_execution_lease(request, options=options)
        if refused == 400:
            # The same completion is taken without the request for a next run, so a member is not known.
            self._known = False
        return run
