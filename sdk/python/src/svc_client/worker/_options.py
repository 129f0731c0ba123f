"""The options of a worker and their checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from .._coroutines import is_coroutine_function
from .._errors import SvcError
from ._endings import identifier
from ._lease_wish import LeaseWish

if TYPE_CHECKING:
    from ._context import RunContext

HandlerCall: TypeAlias = "Callable[[RunContext], object]"
"""Executes one attempt of a run. Its return value, any JSON, is the result; None keeps an earlier reported result."""


class StepCall(Protocol):
    """A handler with steps."""

    @property
    def id(self) -> str: ...
    @property
    def svc_step_version(self) -> str: ...
    def __call__(self, context: RunContext, /) -> object: ...


# The limits of the contract.
_HANDLERS_MAX = 32
_LEASE_SECONDS_MAX = 86_400
_WAIT_SECONDS_MAX = 20

_CONCURRENCY_MAX = 1_000


@dataclass(frozen=True)
class PluginHandler:
    """A handler of a plugin: a run of another plugin fails with the class `plugin_mismatch`."""

    plugin_id: str
    call: HandlerCall


@dataclass(frozen=True)
class Settings:
    worker_id: str
    handlers: Mapping[str, PluginHandler | HandlerCall]
    concurrency: int
    lease_seconds: float
    heartbeat_seconds: float
    wait_seconds: float
    wish: LeaseWish


def settle(
    *,
    worker_id: str,
    handlers: Mapping[str, PluginHandler | HandlerCall] | Sequence[StepCall],
    concurrency: int,
    lease_seconds: float,
    heartbeat_seconds: float | None,
    wait_seconds: float,
) -> Settings:
    lease = _seconds(lease_seconds, "lease_seconds", _LEASE_SECONDS_MAX, above=0)
    every = lease / 3 if heartbeat_seconds is None else _number(heartbeat_seconds, "heartbeat_seconds")
    if not 0 < every < lease:
        raise SvcError(
            "heartbeat_seconds must be above 0 and below lease_seconds: a lease that is not renewed ends."
        )
    found = _handlers(handlers)
    return Settings(
        worker_id=identifier(worker_id, "worker_id"),
        handlers=found,
        wish=LeaseWish(_versions(found)),
        concurrency=_concurrency(concurrency),
        lease_seconds=lease,
        heartbeat_seconds=every,
        wait_seconds=_seconds(wait_seconds, "wait_seconds", _WAIT_SECONDS_MAX, above=None),
    )


def _handlers(given: object) -> Mapping[str, PluginHandler | HandlerCall]:
    found: dict[str, PluginHandler | HandlerCall] = {}
    for name, handler in named(given, "functions"):
        handler_id = identifier(name, "a handler id")
        if handler_id in found:
            raise SvcError(f"handlers has the id {handler_id!r} twice.")
        found[handler_id] = _handler(handler_id, handler)
    if not 0 < len(found) <= _HANDLERS_MAX:
        raise SvcError(f"handlers must have 1 to {_HANDLERS_MAX} handlers.")
    return found


def named(given: object, what: str) -> list[tuple[object, Any]]:
    """The handlers with their ids. A list holds handlers that know their ids, as those with steps do."""
    if isinstance(given, Mapping):
        return [*cast("Mapping[object, Any]", given).items()]
    listed = [*cast("Sequence[Any]", given)] if isinstance(given, (list, tuple)) else []
    if not listed or not all(hasattr(each, "svc_step_version") for each in listed):
        raise SvcError(
            f"handlers must be a mapping of handler ids to {what}, or a list of handlers with steps."
        )
    return [(each.id, each) for each in listed]


def _versions(handlers: Mapping[str, PluginHandler | HandlerCall]) -> list[str]:
    calls = [each.call if isinstance(each, PluginHandler) else each for each in handlers.values()]
    versions = [getattr(call, "svc_step_version", None) for call in calls]
    return [*dict.fromkeys(version for version in versions if version is not None)]


def _handler(handler_id: str, handler: Any) -> PluginHandler | HandlerCall:
    call: Any = handler.call if isinstance(handler, PluginHandler) else handler
    if not callable(call):
        raise SvcError(f"The handler {handler_id!r} is not a function.")
    if is_coroutine_function(call):
        raise SvcError(f"The handler {handler_id!r} is a coroutine function: create an AsyncWorker for it.")
    if isinstance(handler, PluginHandler):
        return PluginHandler(identifier(handler.plugin_id, f"plugin_id of {handler_id!r}"), handler.call)
    return cast("HandlerCall", handler)


def _concurrency(given: object) -> int:
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= _CONCURRENCY_MAX:
        return given
    raise SvcError(f"concurrency must be a whole number from 1 to {_CONCURRENCY_MAX}.")


def _number(given: object, what: str) -> float:
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return float(given)
    raise SvcError(f"{what} must be a number of seconds.")


def _seconds(given: object, what: str, most: float, *, above: float | None) -> float:
    seconds = _number(given, what)
    if seconds <= most and (seconds >= 0 if above is None else seconds > above):
        return seconds
    least = "0" if above is None else f"above {above:g}"
    raise SvcError(f"{what} must be {least} to {most:g}, in seconds.")


def check_grace(given: object) -> float:
    seconds = _number(given, "grace_seconds")
    # Some platforms limit the timeout of an event.
    if 0 <= seconds <= _LEASE_SECONDS_MAX:
        return seconds
    raise SvcError(f"grace_seconds must be 0 to {_LEASE_SECONDS_MAX}, in seconds.")
