"""Names of operations, and the keys under which the journal keeps their results. Rules: `sdk/steps/journal.md`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from ._faults import AmbiguousName, StepNameError, quoted

StepName: TypeAlias = str | Sequence[str | int]
"""A text, or its parts: `["mail", user_id]` is `mail/<user_id>`."""

# In UTF-16 units. The service takes 160, and the kit puts its own words before a key.
_KEY_LENGTH_MAX = 128

SAFE_INTEGER_MAX = 2**53 - 1

# The white space of ECMAScript, so that both kits refuse the same names.
_SPACE = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
_WHITE = _SPACE + "\u2028\u2029\u202f\u205f\u3000\ufeff"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_NUMBERED = re.compile(r"#[0-9]+\Z")


def name_of(given: StepName) -> str:
    """The name as text."""
    name = given if isinstance(given, str) else _joined(given)
    if name.strip(_WHITE) == "":
        raise _refused(name, "is blank")
    if name.strip(_WHITE) != name:
        raise _refused(name, "has white space at an end")
    if _CONTROL.search(name):
        raise _refused(name, "holds a control character or a lone surrogate")
    if name.startswith("@"):
        raise _refused(name, "begins with @, as names of the kit do")
    if _NUMBERED.search(name):
        raise _refused(name, "ends as the second call of a name does")
    return name


def _joined(given: object) -> str:
    is_list = type(given) in (list, tuple)
    parts = cast("Sequence[Any]", given) if is_list else ()
    if not parts:
        raise _refused(given, "has no part")
    return "/".join(_part_of(part) for part in parts)


def _part_of(part: object) -> str:
    if isinstance(part, int) and not isinstance(part, bool):
        if abs(part) > SAFE_INTEGER_MAX:
            raise _refused(part, "has a number that is no safe integer")
        return str(int(part))
    if not isinstance(part, str) or part.strip(_WHITE) == "":
        raise _refused(part, "has a blank part")
    return escaped(part)


def escaped(part: str) -> str:
    """A part of a name, or of a JSON pointer."""
    return part.replace("~", "~0").replace("/", "~1")


def _refused(name: object, why: str) -> StepNameError:
    return StepNameError(f"The name {quoted(name)} of a step {why}.")


def units_of(text: str) -> int:
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2


class OpenOperations:
    """The operations of a branch that are open."""

    def __init__(self) -> None:
        self._count = 0
        self.is_scrambled = False
        """An operation has ended while another one was open: which one ends first decides the order of later calls."""

    def begun(self) -> None:
        self._count += 1

    def ended(self) -> None:
        self._count -= 1
        self.is_scrambled = self._count > 0


@dataclass(frozen=True)
class CallerBranch:
    group: object
    """The branches of one `all`, `map` or `race` have one group."""
    index: int
    is_prompt: bool
    """Whether the branch has not yet given way: prompt calls of branches have one order."""


@dataclass(frozen=True)
class Caller:
    """The place of a call among the parallel branches."""

    chain: Sequence[CallerBranch]
    """Its branches, outermost first; empty outside of branches."""
    open: OpenOperations
    """The operations of the innermost branch."""


@dataclass
class _Calls:
    count: int = 0
    late: list[Caller] = field(default_factory=list[Caller])
    """Callers that had given way before their call."""
    unordered: list[OpenOperations] = field(default_factory=list[OpenOperations])
    """Branches with a call that had no order."""


class Occurrences:
    """Counts the calls of each name."""

    def __init__(self) -> None:
        self._calls: dict[str, _Calls] = {}

    def next(self, name: str, caller: Caller) -> str:
        """The key of the next call of a name; a checked name, or one of the kit."""
        calls = self._calls.setdefault(name, _Calls())
        calls.count += 1
        if any(each is caller.open for each in calls.unordered):
            raise _ambiguous(name)
        if any(_is_unordered(other, caller) for other in calls.late):
            raise _ambiguous(name)
        if caller.open.is_scrambled:
            calls.unordered.append(caller.open)
        if any(not branch.is_prompt for branch in caller.chain):
            calls.late.append(caller)
        key = name if calls.count == 1 else f"{name}#{calls.count}"
        if units_of(key) > _KEY_LENGTH_MAX:
            raise StepNameError(f"The name {key} of a step is longer than {_KEY_LENGTH_MAX} characters.")
        return key


def _is_unordered(one: Caller, other: Caller) -> bool:
    """Whether two calls come from branches side by side, and both after their branch gave way."""
    for depth, (mine, its) in enumerate(zip(one.chain, other.chain, strict=False)):
        if its.group is not mine.group:
            return False
        if its.index != mine.index:
            return _is_late(one, depth) and _is_late(other, depth)
    return False


def _is_late(caller: Caller, depth: int) -> bool:
    return any(not branch.is_prompt for branch in caller.chain[depth:])


def _ambiguous(name: str) -> AmbiguousName:
    given = quoted(name)
    return AmbiguousName(
        f"{given} is called more than once by parallel branches. Name each call by parts: [{given}, id]."
    )
