"""Members of a request for a lease, for handlers with steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .._errors import APIStatusError
from ._repeat import is_of_content

T = TypeVar("T")

# A journal of up to 60 kB comes with the lease. More keys would cost a read each, also where there is no such segment.
_KEYS = ["svc.steps.0"]


class LeaseWish:
    """Members of a request that a server of an earlier release refuses."""

    def __init__(self, versions: Sequence[str]) -> None:
        """`versions`: those of the handlers with steps."""
        self._members: dict[str, Any] = {"checkpointKeys": _KEYS} if versions else {}
        if len(versions) == 1:
            # Handlers of several versions have none in common.
            self._members["handlerVersion"] = versions[0]

    @property
    def members(self) -> dict[str, Any]:
        return self._members

    def made(self, make: Callable[[dict[str, Any]], T]) -> T:
        """Makes a request with the members, and without them where the server does not know them."""
        if not self._members:
            return make({})
        try:
            return make(self._members)
        except APIStatusError as error:
            if error.status != 400 or not is_of_content(error):
                raise
        answer = make({})
        # The same request is taken without them.
        self._members = {}
        return answer
