"""Keeps the retry budgets: the tokens of each server, by the origin of its address."""

from __future__ import annotations

import os
import sys
from threading import Lock

from ._retry import TOKENS_MAX, RetryQuestion, budgeted_retry

# The number of servers whose tokens are kept.
_SERVERS_MAX = 1_000

_lock = Lock()


def settle_attempt(kept: dict[str, int], server: str, question: RetryQuestion | None) -> float | None:
    """Settles an attempt with the budget of its server. Returns the delay before the next attempt in seconds; None if
    there is none. `question` is None after a success."""
    with _lock:
        delay, tokens = budgeted_retry(question, kept.pop(server, TOKENS_MAX))
        # A dict keeps its order: the first server is the one unused for the longest. A full budget needs no entry.
        if tokens < TOKENS_MAX:
            kept[server] = tokens
        if len(kept) > _SERVERS_MAX:
            del kept[next(iter(kept))]
    return delay


def _renew_lock() -> None:
    global _lock
    _lock = Lock()


# A thread that a forked process does not have may hold the lock.
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_renew_lock)
