"""Undoes the steps that have a result, the last one first."""

from __future__ import annotations

from ..worker._endings import RunCancelled
from ._branches import Branch
from ._execution import Execution
from ._faults import ChangedCode, Stop, quoted
from ._flow import Flow


def undo_all(execution: Execution, ending: Stop, branch: Branch) -> Flow[None]:
    """Each is undone once, also where the worker dies in between. A step that cannot be undone stops no other."""
    if not execution.undos:
        return
    yield from execution.end(ending)
    for key in reversed(execution.journal.all_keys()):
        undo = execution.undos.get(key)
        if undo is None:
            continue
        try:
            yield from undo(branch)
        except Exception as error:
            if isinstance(error, (RunCancelled, ChangedCode)) or branch.signal.error is not None:
                raise
            execution.port.log("warning", f"the step {quoted(key)} could not be undone", error)
