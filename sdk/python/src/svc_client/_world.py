"""The clock and the random numbers. Tests replace those of the machine."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from threading import Event


@dataclass(frozen=True)
class World:
    now: Callable[[], float]
    """Seconds of the Unix epoch. Monotonic: it does not jump when the system clock is set."""
    random: Callable[[], float]
    """From 0 to 1."""
    sleep: Callable[[float, Event], None]
    """Waits for the seconds, or until the event is set."""


@dataclass(frozen=True)
class AsyncWorld:
    now: Callable[[], float]
    random: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]


_epoch = time.time() - time.monotonic()


def now() -> float:
    return _epoch + time.monotonic()


def chance() -> float:
    return random.random()


def _sleep(seconds: float, until: Event) -> None:
    until.wait(seconds)


MACHINE = World(now=now, random=chance, sleep=_sleep)
