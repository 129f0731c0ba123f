"""The worker: threads that lease and execute runs."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from .._cancellation import Cancellation
from .._errors import APIAbortError, SvcError
from ._endings import ORDERS, Delivered, DeliveryError, WorkerBusyError, identifier
from ._execution import Execution, Outcome
from ._heartbeat import Heartbeat
from ._log import Log, OnLog
from ._next_runs import NextRuns
from ._options import HandlerCall, PluginHandler, StepCall, check_grace, settle
from ._places import Places
from ._polling import Polling

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._client import Client
    from ._lease import HeldLease

GRACE_SECONDS = 30.0

# The time after the grace period for handlers that check their cancellation.
_FAREWELL_SECONDS = 1.0


class Worker:
    """Executes the runs of its handlers. It polls for runs between `start` and `stop`, or a queue pushes them to
    `deliver`. Handlers run in threads: use a `concurrency` of 1 for code that is not thread-safe.

    A handler runs at least once for each attempt, and from its beginning after each wait: make its effects repeatable,
    or record them in a checkpoint.
    """

    def __init__(
        self,
        client: Client,
        *,
        worker_id: str,
        handlers: Mapping[str, PluginHandler | HandlerCall] | Sequence[StepCall],
        concurrency: int = 1,
        lease_seconds: float = 60.0,
        heartbeat_seconds: float | None = None,
        wait_seconds: float = 20.0,
        on_log: OnLog | None = None,
    ) -> None:
        """`worker_id` names the worker; several processes may share it. If a worker dies, another gets its run after
        `lease_seconds`. While a handler works, its lease is renewed every `heartbeat_seconds`, a third of the lease if
        absent. A request for a run waits up to `wait_seconds` at the service. `on_log` receives the log events; the
        default is the logger `svc_client.worker`."""
        self._settings = settle(
            worker_id=worker_id,
            handlers=handlers,
            concurrency=concurrency,
            lease_seconds=lease_seconds,
            heartbeat_seconds=heartbeat_seconds,
            wait_seconds=wait_seconds,
        )
        self._log = Log(on_log)
        self._world = client._link.world
        # Use connections of their own: those of the handlers may be busy or slow.
        heartbeat = Heartbeat(
            lambda: client.with_options(client.base_url),
            self._settings.heartbeat_seconds,
            self._world,
            self._log,
        )
        self._stopping = Cancellation()
        next_runs = NextRuns(client, self._settings, self._stopping, self._world, self._log)
        self._execution = Execution(
            client, heartbeat, self._settings.handlers, self._world, self._log, self._stopping, next_runs
        )
        self._polling = Polling(client, self._settings, self._stopping, self._world, self._log)
        self._lock = threading.Lock()
        self._started = False
        self._giving_up = False
        self._order: BaseException | None = None
        self._held: set[HeldLease] = set()
        self._places = Places(self._settings.concurrency)
        self._idle = self._places.idle
        self._ended = threading.Event()

    def __repr__(self) -> str:
        return f"Worker(worker_id={self._settings.worker_id!r}, handlers={[*self._settings.handlers]!r})"

    @property
    def stopping(self) -> bool:
        """Whether the worker takes no new runs."""
        return self._stopping.cancelled

    def start(self) -> None:
        """Starts polling, in as many threads as its concurrency. Call it once."""
        self._claim()
        self._poll()

    def _claim(self) -> None:
        with self._lock:
            if self._started or self.stopping:
                raise SvcError("A worker starts once: create another one.")
            self._started = self._places.take(self._settings.concurrency)
            if not self._started:
                raise WorkerBusyError("The worker executes deliveries: create one that asks for runs.")

    def _poll(self) -> None:
        name = f"svc-worker-{self._settings.worker_id}-"
        # Daemon threads: a handler that ignores its cancellation must not keep the program alive.
        threads = [
            threading.Thread(target=self._work, name=f"{name}{number}", daemon=True)
            for number in range(1, self._settings.concurrency + 1)
        ]
        try:
            for thread in threads:
                thread.start()
        finally:
            # A signal may come between two threads, or the system refuse one: those without an id are not waited for.
            for thread in threads:
                if thread.ident is None:
                    self._places.leave()

    def run(self) -> None:
        """Starts, and returns when the worker has stopped. Control-C stops it as `stop` does; a second one stops it
        without grace. A `SystemExit` or `KeyboardInterrupt` of a handler stops it too, and is raised here."""
        self._claim()
        try:
            self._poll()
            self._ended.wait()
        finally:
            self.stop()
        if self._order is not None:
            raise self._order

    def stop(self, grace_seconds: float = GRACE_SECONDS) -> bool:
        """Takes no new run, except one that it has just asked for. Running handlers get the grace period to end; then
        they are cancelled with the reason `stopping`, their runs get no result, and are given back. Returns
        whether all handlers have returned; the threads of the others end with the program."""
        grace_seconds = check_grace(grace_seconds)
        if self._ended.is_set():
            return self._idle.is_set()
        self._stopping.cancel()
        answers = min(grace_seconds, self._polling.soon())
        self._world.sleep(answers, self._idle)
        self._polling.give_up()
        self._world.sleep(grace_seconds - answers, self._idle)
        if not self._idle.is_set():
            self._give_up()
            self._world.sleep(_FAREWELL_SECONDS, self._idle)
        with self._lock:
            left = [*self._held]
        for held in left:
            held.given_up.cancel()
        self._execution.give_back_all(left)
        self._ended.set()
        return self._idle.is_set()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def deliver(self, run_id: str) -> Delivered:
        """Executes this run in the calling thread, for a message of a queue. A repeated or late message has no effect.
        Raises `WorkerBusyError` if all slots are in use or the worker stops, and `DeliveryError` or the error of the
        call if the queue should deliver the run again. A `SystemExit` or `KeyboardInterrupt` of the handler stops the
        worker, and passes."""
        run_id = identifier(run_id, "run_id")
        with self._place():
            try:
                held = self._polling.lease(run_id)
            except APIAbortError:
                raise WorkerBusyError("The worker stops.") from None
            if held is None:
                return "nothing"
            outcome = self._carry_out(held)
        if outcome == "executed" or outcome == "suspended":
            return outcome
        raise DeliveryError(f"The run {run_id} was not carried out to its end: {outcome}.")

    def _work(self) -> None:
        """The loop of one polling thread."""
        try:
            for held in self._polling.runs(self._execution.give_back_unbegun):
                held.takes_next = True
                try:
                    self._carry_out(held)
                except ORDERS:
                    raise
                except BaseException as error:
                    why = "The run was not carried out; its lease expires."
                    self._log.say("error", why, run=held.run, error=error)
        except ORDERS as order:
            self._obey(order)
        finally:
            self._places.leave()

    def _obey(self, order: BaseException) -> None:
        """Stops the worker in order: what a handler raised addresses the program."""
        with self._lock:
            self._order = self._order or order
        self._end("The worker stops: a handler or a call ended the program.", order)

    def _end(self, why: str, error: BaseException | None = None) -> None:
        self._log.say("warning", why, error=error)
        self._stopping.cancel()
        # In another thread, since this one executes a handler. A program that ends by now refuses a thread.
        with suppress(RuntimeError):
            threading.Thread(target=self.stop, name="svc-worker-stop", daemon=True).start()

    def _carry_out(self, held: HeldLease) -> Outcome:
        with self._lock:
            self._held.add(held)
            if self._giving_up:
                # Too late to execute the run: the rest of the grace period belongs to the running handlers.
                held.abandon("stopping")
        try:
            return self._execution.carry_out(held)
        finally:
            with self._lock:
                self._held.discard(held)

    def _give_up(self) -> None:
        with self._lock:
            self._giving_up = True
            left = [*self._held]
        for held in left:
            held.abandon("stopping")

    @contextmanager
    def _place(self) -> Generator[None, None, None]:
        with self._lock:
            if self._started:
                raise SvcError("A worker that asks for runs accepts no deliveries: create a worker for each.")
            if self.stopping:
                raise WorkerBusyError("The worker stops.")
            if not self._places.take():
                raise WorkerBusyError(f"The worker is at its concurrency of {self._places.total}.")
        try:
            yield
        except ORDERS as order:
            self._obey(order)
            raise
        finally:
            self._places.leave()
