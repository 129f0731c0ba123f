"""The examples of the journal that every kit tests."""

from __future__ import annotations

import json
from typing import Any

from wire import ROOT

VECTORS: Any = json.loads((ROOT / "sdk/steps/vectors.json").read_text(encoding="utf-8"))
STARTS_AT: int = VECTORS["startsAt"]


def titled(cases: list[Any]) -> Any:
    """The cases of a test, with their titles."""
    return {"argvalues": cases, "ids": [case["title"] for case in cases]}
