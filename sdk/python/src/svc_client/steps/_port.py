"""The calls that steps make, so that their rules know no protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any, Literal, Protocol

from ._entries import Entry
from ._values import Json

LogLevel = Literal["info", "warning"]


@dataclass(frozen=True)
class TakenEvent:
    name: str
    payload: Json


@dataclass(frozen=True)
class ChildOutcome:
    status: str
    result: Json = None
    failure_class: str | None = None
    error: str | None = None


class StepPort(Protocol):
    """All calls may block, and raise what ends the execution."""

    @property
    def run(self) -> Mapping[str, Any]:
        """The run at the time of the lease."""
        ...

    @property
    def is_last_attempt(self) -> bool:
        """Whether the next failure of the run is final."""
        ...

    @property
    def given(self) -> Mapping[str, Json]:
        """Checkpoints that came with the lease; None for a key without one. Other keys are read."""
        ...

    @property
    def names_max(self) -> int:
        """How many events one wait can be for."""
        ...

    def give_back(self) -> None:
        """The run is leased again where its cancellation leaves time to undo."""

    def now(self) -> float:
        """Milliseconds since 1970 UTC."""
        ...

    def random(self) -> float: ...

    def uuid(self) -> str: ...

    def pause(self, seconds: float, until: Event) -> None: ...

    def read(self, key: str) -> Json:
        """None without a checkpoint of that key."""

    def write(self, key: str, content: Json, metadata: Mapping[str, str], news: Sequence[Entry]) -> None:
        """`news`: entries that are settled since the last write, for the history of the run."""

    def timer(self, name: str, fire_at: int) -> None: ...

    def event(self, names: Sequence[str], until: int | None) -> TakenEvent | None:
        """The event, or None after `until`."""
        ...

    def start_child(self, handler_id: str, payload: Json, key: str, *, cancel_with_parent: bool) -> str:
        """The id of the run. A repeat with the key starts no second run."""
        ...

    def child(self, run_id: str, name: str, until: int | None) -> ChildOutcome | None:
        """Parks the run until the child ends; None after `until`."""
        ...

    def commit(self, tenant_id: str, request: Mapping[str, Any]) -> Any: ...

    def record(self, event_type: str, message: str, details: Mapping[str, object]) -> None: ...

    def log(self, level: LogLevel, message: str, error: BaseException | None = None) -> None: ...
