"""The warnings about previews and deprecated operations."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from ._operation import NoticeSpec, PreviewWarning

_is_own_use: ContextVar[bool] = ContextVar("svc_client_is_own_use", default=False)


@contextmanager
def own_use() -> Generator[None, None, None]:
    """Inside, previews give no warning: this package makes the calls, and each release changes them with the preview.
    The filters of `warnings` belong to all threads of the program, so they cannot do this."""
    token = _is_own_use.set(True)
    try:
        yield
    finally:
        _is_own_use.reset(token)


def warn(notice: NoticeSpec | None) -> None:
    if notice is None:
        return
    if notice.kind != "preview":
        warnings.warn(notice.text, DeprecationWarning, stacklevel=4)
    elif not _is_own_use.get():
        # The warning points at the code that called the generated method.
        warnings.warn(notice.text, PreviewWarning, stacklevel=4)
