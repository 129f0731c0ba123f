"""Problem documents (RFC 9457): the service answers every refusal with one."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypedDict, cast

if sys.version_info >= (3, 11):
    from typing import NotRequired
elif TYPE_CHECKING:
    from typing_extensions import NotRequired

PROBLEM = "application/problem+json"


class ProblemPlace(TypedDict):
    """One faulty place of the request."""

    pointer: str
    """A JSON Pointer into the body; empty for the whole body."""
    detail: str
    keyword: NotRequired[str]


class ProblemAdmission(TypedDict):
    """The admission receipt of rejected work."""

    version: Literal["svc.admission.v1"]
    admissionId: str
    operationId: str
    status: Literal["accepted", "rejected"]
    resourceId: str
    requestHash: str
    idempotencyKeyHash: str | None
    replayed: bool
    admittedAtUtc: str
    statusUri: str
    resultUri: str | None
    failureClass: str | None
    """The class of the failure. Branch on it together with `code`."""
    error: str | None


class Problem(TypedDict):
    """A problem document. A code may add members of its own."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    retryable: bool
    correlationId: str
    traceId: NotRequired[str]
    """The trace of the request, if it had a valid `traceparent`."""
    errors: NotRequired[list[ProblemPlace]]
    retryAfterSeconds: NotRequired[float]
    admission: NotRequired[ProblemAdmission]
    """The receipt of the refused start, if the service rejected valid work."""


def problem_of(media_type: str, content: bytes) -> Problem | None:
    """The problem document in a body; None if it has none, or one of another service."""
    if media_type != PROBLEM:
        return None
    try:
        value = json_of(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    given = cast("dict[str, Any]", value)
    texts = (given.get(name) for name in ("code", "title", "detail", "correlationId"))
    said = all(isinstance(text, str) for text in texts) and isinstance(given.get("retryable"), bool)
    places: Any = given.get("errors", [])
    return cast("Problem", _trusted(given)) if said and isinstance(places, list) else None


def json_of(content: bytes) -> object:
    """Parses a body in UTF-8: `json` alone would accept other encodings too."""
    return json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    """Refuses the constants that `json` accepts although JSON does not have them."""
    raise ValueError(f"{name} is no JSON")


def _trusted(given: dict[str, Any]) -> dict[str, Any]:
    """Drops optional members of a wrong type: callers rely on the types."""
    sound = {**given}
    if "errors" in given:
        sound["errors"] = [place for place in given["errors"] if _is_place(place)]
    if not isinstance(given.get("traceId"), str):
        sound.pop("traceId", None)
    seconds = given.get("retryAfterSeconds")
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        sound.pop("retryAfterSeconds", None)
    return sound


def _is_place(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    place = cast("dict[str, Any]", value)
    texts = (place.get("pointer"), place.get("detail"), place.get("keyword", ""))
    return all(isinstance(text, str) for text in texts)
