"""The exceptions of handlers with steps."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..worker._endings import RunFailure

_PUBLIC = frozenset(["Stop", "RunFailure", "RunFailed", "StepTimeout", "StepValueError"])
"""Errors whose text the author of a handler, or the kit, wrote for the run."""


class Stop(RunFailure):
    """Ends the run as failed: it is not retried, and what steps did is undone. A step that raises it is not tried
    again."""

    def __init__(self, message: str, *, failure_class: str = "validation") -> None:
        super().__init__(message, failure_class=failure_class, retryable=False)


class StepFailed(Stop):
    """The failure of a step after its last try, or of a child run. A handler may catch it and continue. The text of
    another error may be confidential: only `cause` has it."""

    def __init__(self, step: str, cause: Mapping[str, str]) -> None:
        text = f": {cause['message']}" if cause["name"] in _PUBLIC else ""
        super().__init__(f"{quoted(step)} failed{text}")
        self.step = step
        """The key of the step."""
        self.cause: dict[str, str] = dict(cause)
        """`name`, `message` and, if the error had one, `code`."""


class ChangedCode(RunFailure):
    """The code of the handler and the journal of the run do not fit. The run is retried, so mended code goes on."""

    def __init__(self, message: str) -> None:
        super().__init__(message, failure_class="changed_code")


class AmbiguousName(RunFailure):
    """Parallel branches call one name more than once, so the next execution could exchange their results."""

    def __init__(self, message: str) -> None:
        super().__init__(message, failure_class="ambiguous_name")


class StepTimeout(Exception):
    """A step did not end in its time."""

    def __init__(self, step: str, seconds: float) -> None:
        super().__init__(f"{quoted(step)} took longer than {seconds:g} s.")


class StepNameError(TypeError):
    """Refuses a name."""


class StepValueError(TypeError):
    """A value that JSON would change. `pointer` is its place."""

    def __init__(self, pointer: str, why: str) -> None:
        super().__init__(f"{f'The value at {pointer}' if pointer else 'The value'} {why}")
        self.pointer = pointer


class BranchEnded(Exception):
    """Another branch of a race has won. The operations of this branch end with it."""

    def __init__(self) -> None:
        super().__init__("Another branch of the race has won.")


def quoted(text: object) -> str:
    return json.dumps(text, ensure_ascii=False, default=repr)
