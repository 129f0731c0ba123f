"""Bodies of parts (RFC 7578)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, cast

from ._body import Body, Segment, content_segments, json_text
from ._errors import SvcError
from ._operation import FilePart, OperationSpec, PartSpec


def multipart(
    parts: tuple[PartSpec, ...],
    values: Mapping[str, Any],
    boundary: str,
    operation: OperationSpec | None = None,
) -> Body:
    """No part may contain `boundary`."""
    _check_names(parts, values, operation)
    segments: list[Segment] = []
    for part in parts:
        value = values.get(part.name)
        if value is None:
            continue
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_quoted(part.name)}"'
        if not part.binary:
            segments += [
                _utf8(f"{head}\r\nContent-Type: application/json\r\n\r\n"),
                json_text(value, operation, f"/{part.name}"),
                b"\r\n",
            ]
            continue
        if not isinstance(value, FilePart):
            called = None if operation is None else operation.id
            raise SvcError(f"The part {part.name} must be a FilePart.", operation=called)
        filename = _name_of(value.content, part.name) if value.filename is None else value.filename
        media_type = "application/octet-stream" if value.content_type is None else value.content_type
        media_type = media_type.replace("\r", "").replace("\n", "")
        head = f'{head}; filename="{_quoted(filename)}"\r\nContent-Type: {media_type}\r\n\r\n'
        segments += [_utf8(head), *content_segments(value.content), b"\r\n"]
    segments.append(_utf8(f"--{boundary}--\r\n"))
    return Body(tuple(segments))


def _check_names(
    parts: tuple[PartSpec, ...], values: Mapping[str, Any], operation: OperationSpec | None
) -> None:
    """Refuses a part that the operation does not have: it would not be sent."""
    known = [part.name for part in parts]
    for name, value in values.items():
        if value is None or name in known:
            continue
        near = get_close_matches(name, known, 1)
        meant = f": did you mean {near[0]}?" if near else ""
        of_call = "" if operation is None else f" of {operation.name}"
        message = f"The request{of_call} is not valid: /{name}: is not known here{meant}"
        raise SvcError(message, operation=None if operation is None else operation.id)


def _name_of(content: object, otherwise: str) -> str:
    if not isinstance(content, os.PathLike):
        return otherwise
    return os.path.basename(cast("os.PathLike[str]", content))


def _quoted(text: str) -> str:
    """Escapes a name as browsers do in this header."""
    return text.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise SvcError("The name of a file is not valid Unicode.") from error
