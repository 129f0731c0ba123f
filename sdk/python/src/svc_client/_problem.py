"""Problem documents (RFC 9457), as every refusal of the service is."""

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
    """One place of the request that was refused."""

    pointer: str
    """A JSON Pointer into the body; empty for the whole of it."""
    detail: str
    keyword: NotRequired[str]


class ProblemAdmission(TypedDict):
    """The receipt of work that was rejected: how its start was answered."""

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
    """What to branch on, beside the code."""
    error: str | None


class Problem(TypedDict):
    """A refusal. Further members may be there, such as those that a code tells more with."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    retryable: bool
    correlationId: str
    errors: NotRequired[list[ProblemPlace]]
    retryAfterSeconds: NotRequired[float]
    admission: NotRequired[ProblemAdmission]
    """How the start of work was answered, where it was refused after its request was understood."""


def problem_of(media_type: str, content: bytes) -> Problem | None:
    """The problem document that a body holds; None where it holds none, or none of this service."""
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
    """What a body says, which is UTF-8: `json` would take other encodings too."""
    return json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    """For those that `json` reads though JSON has them not."""
    raise ValueError(f"{name} is no JSON")


def _trusted(given: dict[str, Any]) -> dict[str, Any]:
    """Without what is not of the type that readers count on."""
    sound = {**given}
    if "errors" in given:
        sound["errors"] = [place for place in given["errors"] if _is_place(place)]
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
