"""Deliveries by their key: the first one of a key is active, the others wait in order of arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ._delivery import Delivery


class Lanes:
    def __init__(self) -> None:
        self._waiting: dict[str, deque[Delivery]] = {}

    def enter(self, delivery: Delivery) -> bool:
        """Whether the delivery may begin now; otherwise it waits."""
        waiting = self._waiting.get(delivery.event["key"])
        if waiting is None:
            self._waiting[delivery.event["key"]] = deque()
            return True
        waiting.append(delivery)
        return False

    def advance(self, key: str) -> Delivery | None:
        """Ends the active delivery of the key. The next one, which may begin."""
        waiting = self._waiting[key]
        if waiting:
            return waiting.popleft()
        del self._waiting[key]
        return None

    def take(self, which: Callable[[Delivery], bool]) -> list[Delivery]:
        """Takes these waiting deliveries out."""
        taken = [each for waiting in self._waiting.values() for each in waiting if which(each)]
        for key, waiting in self._waiting.items():
            self._waiting[key] = deque(each for each in waiting if each not in taken)
        return taken
