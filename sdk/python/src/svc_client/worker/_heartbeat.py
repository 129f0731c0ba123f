"""Renews a lease while its handler works."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

from ._repeat import bare, pause_after, says_lost

if TYPE_CHECKING:
    from .._client import Client
    from .._world import World
    from ._lease import HeldLease
    from ._log import Log

_CALL_SECONDS_MIN = 0.05
_CALL_SECONDS_MAX = 10.0


class Heartbeat:
    """Renews leases in threads of its own, each with its own connection: a handler may compute or block."""

    def __init__(self, connect: Callable[[], Client], every: float, world: World, log: Log) -> None:
        self._connect = connect
        self._every = every
        self._world = world
        self._log = log

    @contextmanager
    def keeping(self, held: HeldLease) -> Generator[None, None, None]:
        done = Event()
        name = f"svc-heartbeat-{held.run['id']}"
        threading.Thread(target=self.keep, args=(held, done), name=name, daemon=True).start()
        try:
            yield
        finally:
            # Do not wait for the thread: a further renewal has no effect.
            done.set()

    def keep(self, held: HeldLease, done: Event) -> None:
        """Renews until `done`, or until the lease is lost: the service refuses it, or no renewal succeeds in time."""
        client: Client | None = None
        failures = 0
        pause = self._every
        try:
            while self._is_due(held, pause, done):
                # Most handlers return before the first renewal, so open the connection late.
                client = self._connect() if client is None else client
                error = self._renew(held, client)
                if done.is_set():
                    return
                if error is None:
                    failures, pause = 0, self._every
                    self._log.say("debug", "The lease was renewed.", run=held.run)
                    continue
                if says_lost(error) and not held.parking:
                    if held.lose():
                        text = "The lease is lost: the service says so."
                        self._log.say("error", text, run=held.run, error=error)
                    return
                failures += 1
                pause = min(self._every, pause_after(failures, error, self._world.random()))
                self._log.say("warning", "The lease could not be renewed.", run=held.run, error=error)
        finally:
            if client is not None:
                client.close()

    def _is_due(self, held: HeldLease, pause: float, done: Event) -> bool:
        """Whether the lease still needs a renewal after the pause."""
        self._world.sleep(max(0.0, min(pause, held.left())), done)
        if done.is_set() or held.state != "held":
            return False
        if held.left() > 0:
            return True
        if held.lose():
            text = "The lease could not be renewed before its end, and is lost."
            self._log.say("error", text, run=held.run)
        return False

    def _renew(self, held: HeldLease, client: Client) -> BaseException | None:
        # Use half of the remaining time, so that a second try fits in.
        timeout = min(_CALL_SECONDS_MAX, max(held.left() / 2, _CALL_SECONDS_MIN))
        try:
            bare(partial(held.renew, client, timeout))
        except BaseException as error:
            return error
        return None
