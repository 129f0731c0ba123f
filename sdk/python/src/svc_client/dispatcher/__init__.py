"""Delivers the outbox events of one tenant to handlers, at least once each."""

from __future__ import annotations

from ._dispatcher import Dispatcher
from ._errors import AbortReason, DeliveryAborted, NoHandlerError, RetryAfter
from ._options import Backoff, DeliveryContext, DispatcherEvent, During, EventHandler, OnError, OnEvent
from ._outbox import CallFailure, Hold, LeaseRequest, Outbox, OutboxCallError
from ._timers import DispatcherWorld

__all__ = [
    "AbortReason",
    "Backoff",
    "CallFailure",
    "DeliveryAborted",
    "DeliveryContext",
    "Dispatcher",
    "DispatcherEvent",
    "DispatcherWorld",
    "During",
    "EventHandler",
    "Hold",
    "LeaseRequest",
    "NoHandlerError",
    "OnError",
    "OnEvent",
    "Outbox",
    "OutboxCallError",
    "RetryAfter",
]
