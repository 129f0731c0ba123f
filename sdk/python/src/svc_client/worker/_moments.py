"""Moments as the service has them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from .._errors import SvcError


def moment_in(now: float, seconds: object, what: str) -> str:
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not 0 <= seconds < 1e9:
        raise SvcError(f"{what} must be a number of seconds from 0.")
    return utc(datetime.fromtimestamp(now, timezone.utc) + timedelta(seconds=seconds))


def utc(moment: datetime) -> str:
    text = moment.astimezone(timezone.utc).isoformat(timespec="milliseconds")
    return f"{text.removesuffix('+00:00')}Z"
