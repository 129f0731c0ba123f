"""The cases of `sdk/wire/requests.json`: how they are called, and how a request is written as they are."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

from flavours import Flavour
from stage import Seen

ROOT = Path(__file__).resolve().parents[3]


def cases(path: Path = ROOT / "sdk/wire/requests.json") -> list[dict[str, Any]]:
    return json.loads(path.read_bytes())["cases"]


def name_of(case: dict[str, Any]) -> str:
    return f"{case['operation']}-{case['case']}"


def call(sdk: Flavour, client: Any, case: dict[str, Any]) -> Any:
    given = case["arguments"]
    positional = [*given["path"]]
    if given["request"] is not None:
        positional.append(_request_of(sdk, given["request"]))
    named = {"_".join(each["words"]): each["value"] for each in given["parameters"] or []}
    if given["idempotencyKey"] is not None:
        named["idempotency_key"] = given["idempotencyKey"]
    result = sdk.call(client, case["python"], *positional, **named)
    # A list in pages is not asked for before it is used.
    return sdk.run(result.first) if hasattr(result, "iter_pages") else result


def _request_of(sdk: Flavour, given: Any) -> Any:
    """JSON as it is; files and bytes as bytes."""
    if not isinstance(given, dict):
        return given
    if "base64" in given:
        return base64.b64decode(given["base64"])
    return {
        name: sdk.module.FilePart(
            base64.b64decode(value["base64"]), value.get("filename"), value.get("contentType")
        )
        if isinstance(value, dict) and "base64" in value
        else value
        for name, value in given.items()
    }


# Headers that the platform's HTTP client adds by itself.
_PLATFORM = {
    *("host", "connection", "content-length", "transfer-encoding"),
    *("accept", "accept-encoding", "user-agent"),
}


def observed(seen: Seen) -> dict[str, Any]:
    """A request as the cases write it."""
    media_type, _, boundary = seen.headers.get("content-type", "").partition("; boundary=")
    headers = {name: value for name, value in seen.headers.items() if name not in _PLATFORM}
    if media_type:
        headers["content-type"] = media_type
    return {
        "method": seen.method,
        "target": seen.target,
        "headers": headers,
        "body": _body_of(media_type, boundary, seen.body) if media_type else None,
    }


def _body_of(media_type: str, boundary: str, body: bytes) -> dict[str, Any]:
    if media_type == "application/json":
        return {"json": canonical(body)}
    if not boundary:
        return {"base64": base64.b64encode(body).decode()}
    return {"parts": parts_of(body, boundary)}


_PART = re.compile(
    rb'\r\nContent-Disposition: form-data; name="([^"]*)"(?:; filename="([^"]*)")?\r\n'
    rb"Content-Type: ([^\r\n]+)\r\n\r\n(.*)\r\n",
    re.DOTALL,
)


def parts_of(body: bytes, boundary: str) -> list[dict[str, Any]]:
    """The parts of a form (RFC 2046 section 5.1), read strictly."""
    first, *parts, last = body.split(b"--" + boundary.encode())
    assert (first, last) == (b"", b"--\r\n")
    found = []
    for part in parts:
        match = _PART.fullmatch(part)
        assert match is not None, part
        name, filename, media_type, content = match.groups()
        found.append(
            {
                "name": name.decode(),
                "filename": None if filename is None else filename.decode().replace("%22", '"'),
                "contentType": media_type.decode(),
                "body": {"json": canonical(content)}
                if media_type == b"application/json"
                else {"base64": base64.b64encode(content).decode()},
            }
        )
    return found


def canonical(text: bytes) -> str:
    """RFC 8785, for the values that examples hold."""

    def number(value: float) -> Any:
        return int(value) if value.is_integer() else value

    def ordered(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                name: ordered(value[name]) for name in sorted(value, key=lambda key: key.encode("utf-16-be"))
            }
        if isinstance(value, list):
            return [ordered(item) for item in value]
        return number(value) if isinstance(value, float) else value

    return json.dumps(ordered(json.loads(text)), ensure_ascii=False, separators=(",", ":"))
