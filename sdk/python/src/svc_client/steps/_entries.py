"""Entries of a journal. Members and their order: `sdk/steps/journal.md`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from ._faults import ChangedCode
from ._names import units_of
from ._values import Json

Entry: TypeAlias = dict[str, Any]
"""One result in the journal."""

_KINDS = frozenset(["step", "sleep", "event", "child", "start", "mark", "undo"])
_MEMBERS = ("k", "t", "v", "ref", "e", "n", "id", "ms", "at")
_RESULTS = ("v", "ref", "e")

_NAME_LENGTH_MAX = 100
_MESSAGE_LENGTH_MAX = 1_000
_LONE = re.compile(r"[\ud800-\udfff]")


def is_settled(entry: Entry) -> bool:
    """Whether the entry holds a result; otherwise its operation goes on."""
    return any(member in entry for member in _RESULTS)


def ordered(entry: Entry) -> Entry:
    """The entry with its members in their order; members of a later kit come last."""
    known = {name: entry[name] for name in _MEMBERS if name in entry}
    return {**known, **{name: value for name, value in entry.items() if name not in known}}


def read_entry(given: Json) -> Entry:
    """An entry as it was read. Raises where it is none."""
    if not isinstance(given, dict):
        raise _no_entry()
    entry = cast("Entry", given)
    texts = all(isinstance(entry.get(name, ""), str) for name in ("ref", "id"))
    numbers = all(_is_number(entry.get(name, 0)) for name in ("n", "ms", "at"))
    # Another value of the member may be of a type without a hash.
    kind = entry.get("t")
    has_key = isinstance(entry.get("k"), str) and isinstance(kind, str) and kind in _KINDS
    is_one = sum(name in entry for name in _RESULTS) <= 1
    has_error = "e" not in entry or _is_error(entry["e"])
    if not (texts and numbers and has_key and is_one and has_error):
        raise _no_entry()
    return entry


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_error(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    error = cast("Mapping[str, object]", value)
    return all(isinstance(error.get(name), str) for name in ("name", "message")) and isinstance(
        error.get("code", ""), str
    )


def _no_entry() -> ChangedCode:
    return ChangedCode("The journal of the run holds an entry that this kit cannot read")


def entry_error(error: BaseException) -> dict[str, str]:
    """The part of an error that the journal keeps."""
    try:
        its = {"name": type(error).__name__, "message": str(error)}
        code = getattr(error, "code", None)
    except BaseException:
        # The code of the error makes the text, and may raise anything.
        return {"name": "Error", "message": "The error has no text."}
    kept = {"name": _cut(its["name"], _NAME_LENGTH_MAX), "message": _cut(its["message"], _MESSAGE_LENGTH_MAX)}
    return {**kept, "code": _cut(code, _NAME_LENGTH_MAX)} if isinstance(code, str) else kept


def cut_message(text: str) -> str:
    return _cut(text, _MESSAGE_LENGTH_MAX)


def cut_name(text: str) -> str:
    return _cut(text, _NAME_LENGTH_MAX)


def _cut(text: str, length_max: int) -> str:
    """Cuts to UTF-16 units, never inside a surrogate pair; a lone surrogate becomes U+FFFD."""
    clean = _LONE.sub("\ufffd", text)
    if units_of(clean) <= length_max:
        return clean
    return clean.encode("utf-16-le")[: 2 * length_max].decode("utf-16-le", errors="ignore")
