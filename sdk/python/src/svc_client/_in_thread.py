"""Blocking calls of asynchronous code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_thread(call: Callable[[], T], name: str) -> T:
    """Makes a blocking call in a daemon thread: it needs none of the loop's executor, which handlers may use up, and
    the end of the program does not wait for it. A cancelled caller leaves the call to end by itself."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(give: Callable[[], object]) -> None:
        def given() -> None:
            # A cancelled caller waits for no answer.
            if not answer.done():
                give()

        # A closed loop has no caller left.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(given)

    def work() -> None:
        try:
            value = call()
        except StopIteration as error:
            # A future refuses this one, and its caller would wait for ever. A coroutine replaces it too.
            stopped = RuntimeError("the call raised StopIteration")
            stopped.__cause__ = error
            settle(partial(answer.set_exception, stopped))
        except BaseException as error:
            settle(partial(answer.set_exception, error))
        else:
            settle(partial(answer.set_result, value))

    threading.Thread(target=work, name=name, daemon=True).start()
    return await answer
