"""Stops a worker on signals of the process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ._options import check_grace
from ._worker import GRACE_SECONDS, Worker

if TYPE_CHECKING:
    from types import FrameType

    from ._async_worker import AsyncWorker

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def stop_on_signals(
    worker: Worker | AsyncWorker,
    signals: Iterable[signal.Signals] = STOP_SIGNALS,
    *,
    grace_seconds: float = GRACE_SECONDS,
) -> Callable[[], None]:
    """Stops the worker at the first of these signals, and without grace at the second. Call it in the main thread, as
    `signal.signal`. The returned function restores the earlier signal handlers."""
    grace_seconds = check_grace(grace_seconds)
    # The threads of a worker for coroutine handlers stop it also while its event loop is blocked.
    blocking = worker if isinstance(worker, Worker) else worker._worker
    count = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        grace = grace_seconds if count == 1 else 0.0
        # Stop in another thread: the interrupted main thread may hold a lock that the stop needs.
        threading.Thread(target=blocking.stop, args=(grace,), name="svc-worker-stop", daemon=True).start()

    before = {each: signal.signal(each, stop) for each in signals}

    def restore() -> None:
        for each, was in before.items():
            signal.signal(each, was)

    return restore
