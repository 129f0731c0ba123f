"""The lease of one run, as its worker knows it."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from .._cancellation import Cancellation
from .._credentials import keep
from ._cancelled import CancellationReason, RunCancellation

if TYPE_CHECKING:
    from typing import TypedDict

    from .._client import Client
    from .._generated import models
    from .._world import World

    class Proof(TypedDict):
        leaseKey: str
        leaseToken: str
        workerId: str


State: TypeAlias = Literal["held", "suspended", "lost", "abandoned", "completing", "over"]
"""`abandoned`: to be given back. A lease leaves `held` once. Only a held lease can be completed."""


class HeldLease:
    """The handler, the heartbeat and the thread that stops the worker share it. It never shows its token."""

    def __init__(
        self, world: World, answer: models.ExecutionExternalWorkerLease, *, seconds: float, until: float
    ) -> None:
        token = keep(answer["leaseToken"])
        # Tools that print the variables of a traceback print this one too.
        cast("dict[str, object]", answer)["leaseToken"] = token
        self.run = answer["run"]
        # A server of release 0.5.0 does not send the member.
        self.shows_handler_errors = answer.get("showsHandlerErrors") is True
        self.is_last_attempt = cast("bool | None", answer.get("isLastAttempt"))
        self.knows_steps = self.is_last_attempt is not None
        """Whether the server knows the members for handlers with steps."""
        self.checkpoints = answer.get("checkpoints")
        """The checkpoints that the request for the lease named."""
        self.seconds = seconds
        self.cancellation = RunCancellation()
        self.order: BaseException | None = None
        """The exception of the handler, if it is one that ends the program."""
        self.takes_next = False
        """Whether the completion asks for the next run."""
        self.next: HeldLease | None = None
        """The run that came with the answer to the completion."""
        self.given_up = Cancellation()
        """Set when nothing more may be sent under the lease. Ends the calls in progress."""
        self._proof: Proof = {
            "leaseKey": answer["leaseKey"],
            "leaseToken": token,
            "workerId": answer["workerId"],
        }
        self._world = world
        self._until = until
        self._lock = threading.Lock()
        self._state: State = "held"
        self._parking = 0
        self._writes = 0
        self._given_back = False
        self.seen(self.run)

    def __repr__(self) -> str:
        return f"HeldLease(run={self.run['id']!r}, state={self._state!r})"

    @property
    def state(self) -> State:
        return self._state

    @property
    def parking(self) -> bool:
        """Whether a wait is in progress. Its answer may end the lease."""
        return self._parking > 0

    def next_write_id(self) -> str:
        """A name for a write of this lease: a repeat of the write gets the same answer."""
        with self._lock:
            self._writes += 1
            return f"w{self._writes}"

    def proof(self) -> Proof:
        return {**self._proof}

    def left(self) -> float:
        """The minimum rest of the lease in seconds."""
        return self._until - self._world.now()

    def seen(self, run: models.ExecutionRun) -> None:
        """Takes the state of the run from an answer."""
        self.run = run
        if run["cancellationRequested"]:
            self.cancellation.cancel("cancelled")

    def renew(self, client: Client, timeout: float) -> None:
        sent = self._world.now()
        request: models.ExecutionExternalWorkerHeartbeatRequest = {**self._proof, "ttlSeconds": self.seconds}
        answer = client.heartbeat_external_execution_lease(
            request, options={"timeout": timeout, "max_retries": 0, "cancellation": self.given_up}
        )
        run = answer["run"]
        # The answer holds the token too.
        cast("dict[str, object]", answer).clear()
        # Count from the sending: the lease may have started before the answer arrived.
        self._until = max(self._until, sent + self.seconds)
        self.seen(run)

    @contextmanager
    def is_parking(self) -> Generator[None, None, None]:
        with self._lock:
            self._parking += 1
        try:
            yield
        finally:
            with self._lock:
                self._parking -= 1

    def suspend(self) -> None:
        self._to("suspended")

    def lose(self) -> bool:
        """Marks the lease as lost: another worker may have the run. False if the lease was already over."""
        return self._give_up("lost", "lease_lost")

    def abandon(self, reason: CancellationReason) -> bool:
        """The run is given back. The handler must stop, and may write a last checkpoint while the lease holds."""
        changed = self._to("abandoned")
        self.cancellation.cancel(reason)
        return changed

    def begin_completion(self) -> bool:
        """Claims the ending of the lease: no other thread can end it any more."""
        return self._to("completing")

    def claim_giving_back(self) -> bool:
        """Whether this thread is the one that gives the run of an abandoned lease back."""
        with self._lock:
            first = self._state == "abandoned" and not self._given_back
            self._given_back = self._given_back or first
            return first

    def end(self) -> None:
        """Ends all sending under the lease."""
        with self._lock:
            if self._state in ("held", "completing"):
                self._state = "over"
        self.given_up.cancel()

    def _give_up(self, state: State, reason: CancellationReason) -> bool:
        changed = self._to(state)
        if changed:
            self.cancellation.cancel(reason)
            self.given_up.cancel()
        return changed

    def _to(self, state: State) -> bool:
        with self._lock:
            changed = self._state == "held"
            if changed:
                self._state = state
            return changed
