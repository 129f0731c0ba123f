"""Which functions are coroutine functions."""

from __future__ import annotations

import inspect
from functools import partial
from typing import cast


def is_coroutine_function(call: object) -> bool:
    """Also of an object whose `__call__` is async, and of a partial of it."""
    while isinstance(call, partial):
        call = cast("partial[object]", call).func
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004
