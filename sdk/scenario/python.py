"""Runs a scenario through the public methods of the Python SDK, and prints what each step gave, as one line of JSON.

python sdk/scenario/python.py <scenario> <address> <tenant>
"""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

from svc_client import APIStatusError, Client, FilePart, StreamedResponse


def main(scenario: str, address: str, tenant: str) -> None:
    steps = json.loads(Path(scenario).read_bytes())["steps"]
    kept: dict[str, Any] = {"tenant": tenant}
    with Client(address, api_key=None, token=None) as client:
        transcript = [{"step": each["step"], **made(client, each, kept)} for each in steps]
    print(json.dumps(transcript))


def made(client: Client, each: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    try:
        result = called(client, each, kept)
    except APIStatusError as error:
        return problem_of(error)
    keep(each, result, kept)
    return {"result": result}


def problem_of(error: APIStatusError) -> dict[str, Any]:
    return {
        "error": {
            "class": type(error).__name__,
            "status": error.status,
            "code": error.code,
            "retryable": error.retryable,
            "retryAfter": error.retry_after,
            "correlationId": error.correlation_id,
            "problem": error.problem,
            "errors": error.errors,
        }
    }


def keep(each: dict[str, Any], result: Any, kept: dict[str, Any]) -> None:
    for name, place in each.get("keep", {}).items():
        kept[name] = at(result, place)


def begun(client: Any, each: dict[str, Any], kept: dict[str, Any]) -> Any:
    """The value that the method returns: an answer, pages, or an awaitable of either."""
    method = getattr(client, each["method"]["python"])
    query = filled(each.get("parameters", {}), kept)
    named: dict[str, Any] = {snake(name): value for name, value in query.items()}
    if "idempotencyKey" in each:
        named["idempotency_key"] = each["idempotencyKey"]
    if "correlationId" in each:
        named["options"] = {"correlation_id": each["correlationId"]}
    return method(*(filled(given, kept) for given in each.get("arguments", [])), **named)


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def called(client: Client, each: dict[str, Any], kept: dict[str, Any]) -> Any:
    answer = begun(client, each, kept)
    if each.get("read") == "all":
        return answer.collect()
    if each.get("read") == "pages":
        return list(answer.iter_pages())
    if isinstance(answer, StreamedResponse):
        with answer:
            return encoded(answer.read())
    return answer.first() if hasattr(answer, "iter_pages") else answer


def encoded(content: bytes) -> dict[str, str]:
    """Bytes as both languages write them."""
    return {"base64": base64.b64encode(content).decode()}


def filled(value: Any, kept: dict[str, Any]) -> Any:
    """`{"kept": "name"}` stands for what an earlier step has kept, `{"base64": …}` for bytes, `{"filePart": …}` for a part of a form."""
    if isinstance(value, list):
        return [filled(member, kept) for member in value]
    if not isinstance(value, dict):
        return value
    if "kept" in value:
        return kept[value["kept"]]
    if "filePart" in value:
        file = value["filePart"]
        return FilePart(base64.b64decode(file["base64"]), file["filename"], file["contentType"])
    if "base64" in value:
        return base64.b64decode(value["base64"])
    return {name: filled(member, kept) for name, member in value.items()}


def at(value: Any, place: str) -> Any:
    """The value at `/a/0/b`; the whole for an empty place."""
    for name in place.split("/")[1:]:
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


if __name__ == "__main__":
    main(*sys.argv[1:])
