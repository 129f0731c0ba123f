"""Values of a journal: what JSON can hold without loss, and their text as ECMAScript writes it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from ._faults import StepValueError
from ._names import SAFE_INTEGER_MAX, escaped

Json: TypeAlias = Any
"""A value of JSON."""

_NESTING_MAX = 200
_VALUE_BYTES_MAX = 1_048_576
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def json_copy(value: object) -> Json:
    """A copy of the value, so that later changes by the handler reach no journal. Refuses what JSON would lose."""
    return _copy_of(value, "", ())


def _copy_of(value: object, pointer: str, above: tuple[int, ...]) -> Json:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        if _SURROGATE.search(cast("str", value)):
            raise StepValueError(pointer, "holds a lone surrogate.")
        return value
    if kind is int:
        if abs(cast("int", value)) > SAFE_INTEGER_MAX:
            raise StepValueError(pointer, "is an integer of more than 53 bits, which JSON would change.")
        return value
    if kind is float:
        return _number_of(cast("float", value), pointer)
    if kind is not list and kind is not dict:
        raise StepValueError(
            pointer, f"is a {kind.__name__}, which JSON would change. Give a plain dict or list."
        )
    if id(value) in above:
        raise StepValueError(pointer, "holds itself.")
    if len(above) >= _NESTING_MAX:
        raise StepValueError(pointer, f"is nested in more than {_NESTING_MAX} levels.")
    inside = (*above, id(value))
    if kind is list:
        items = cast("list[object]", value)
        return [_copy_of(item, f"{pointer}/{at}", inside) for at, item in enumerate(items)]
    return _object_of(cast("dict[object, object]", value), pointer, inside)


def _number_of(value: float, pointer: str) -> float | int:
    if not math.isfinite(value):
        raise StepValueError(pointer, f"is {value}, which JSON cannot say.")
    # JSON has one kind of number: the next execution reads 1 where this one had 1.0.
    return int(value) if value.is_integer() and abs(value) <= SAFE_INTEGER_MAX else value


def _object_of(value: dict[object, object], pointer: str, above: tuple[int, ...]) -> Json:
    copy: dict[str, Json] = {}
    for name, member in value.items():
        if type(name) is not str:
            raise StepValueError(
                pointer, f"has a name that is a {type(name).__name__}, which JSON would change."
            )
        at = f"{pointer}/{escaped(name)}"
        if _SURROGATE.search(name):
            raise StepValueError(at.encode("utf-8", "replace").decode(), "has a lone surrogate in its name.")
        copy[name] = _copy_of(member, at, above)
    return copy


def from_wire(value: Json) -> Json:
    """A value of an answer, as a program of ECMAScript would read it: its numbers have 53 bits."""
    if type(value) is int:
        return value if abs(value) <= SAFE_INTEGER_MAX else _float_of(value)
    if type(value) is float:
        return _number_of(value, "")
    if isinstance(value, list):
        return [from_wire(item) for item in cast("Sequence[Json]", value)]
    if isinstance(value, dict):
        return {name: from_wire(member) for name, member in cast("dict[str, Json]", value).items()}
    return value


def _float_of(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(1.7976931348623157e308, value)


def text_of(value: Json) -> str:
    """The text as `JSON.stringify` of ECMAScript writes it."""
    pieces: list[str] = []
    _write(value, pieces)
    return "".join(pieces)


def _write(value: Json, pieces: list[str]) -> None:
    if isinstance(value, str):
        pieces.append(_text(value))
    elif value is None or isinstance(value, bool):
        pieces.append("null" if value is None else "true" if value else "false")
    elif isinstance(value, int):
        pieces.append(str(value) if abs(value) <= SAFE_INTEGER_MAX else number_text(_float_of(value)))
    elif isinstance(value, float):
        pieces.append(number_text(value))
    elif isinstance(value, Mapping):
        _write_object(cast("Mapping[str, Json]", value), pieces)
    else:
        pieces.append("[")
        for at, item in enumerate(cast("Sequence[Json]", value)):
            if at > 0:
                pieces.append(",")
            _write(item, pieces)
        pieces.append("]")


def _write_object(value: Mapping[str, Json], pieces: list[str]) -> None:
    pieces.append("{")
    for at, (name, member) in enumerate(value.items()):
        pieces.append(f"{',' if at > 0 else ''}{_text(name)}:")
        _write(member, pieces)
    pieces.append("}")


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def number_text(value: float) -> str:
    """A number as ECMAScript writes it. Both languages find the same shortest digits."""
    if value == 0:
        return "0"
    digits, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, part = digits.partition(".")
    part = "" if part == "0" else part
    point = len(whole) + int(exponent or "0")
    significant = (whole + part).lstrip("0")
    point -= len(whole + part) - len(significant)
    significant = significant.rstrip("0")
    return ("-" if value < 0 else "") + _placed(significant, point)


def _placed(digits: str, point: int) -> str:
    """Digits whose point stands after the first `point` of them."""
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    power = f"{point - 1:+d}"
    return f"{digits[0]}{'.' if count > 1 else ''}{digits[1:]}e{power}"


def bytes_of(text: str) -> int:
    """The bytes of a text in UTF-8. A lone surrogate counts as the U+FFFD that takes its place."""
    return len(text) if text.isascii() else len(text.encode("utf-8", errors="surrogatepass"))


def value_bytes(value: Json) -> int:
    """The bytes of a value as JSON. Raises where it is larger than a checkpoint may be."""
    size = bytes_of(text_of(value))
    if size > _VALUE_BYTES_MAX:
        why = f"has {size} bytes as JSON; {_VALUE_BYTES_MAX} are the limit. Keep it as an artifact."
        raise StepValueError("", why)
    return size
