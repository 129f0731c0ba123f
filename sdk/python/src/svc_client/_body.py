"""Request bodies: bytes, files and iterables."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ._errors import SvcError
from ._operation import BinaryContent, BinaryReader, OperationSpec

_CHUNK = 65_536


@dataclass(frozen=True)
class FileSegment:
    """The content of a file, from its position and up to its end at the time of the call."""

    reader: BinaryReader
    start: int | None
    """None if the file cannot seek."""
    length: int | None

    def rewind(self) -> None:
        if self.start is not None:
            cast("io.IOBase", self.reader).seek(self.start)


@dataclass(frozen=True)
class StreamSegment:
    chunks: Iterable[bytes] | AsyncIterable[bytes]


Segment: TypeAlias = bytes | FileSegment | StreamSegment


class ContentError(Exception):
    """The caller's content failed; its error is the cause."""

    def __init__(self, error: BaseException) -> None:
        super().__init__("the content failed")
        self.error = error


@dataclass(frozen=True)
class Body:
    segments: tuple[Segment, ...]

    @property
    def length(self) -> int | None:
        """None if the length is unknown."""
        total = 0
        for segment in self.segments:
            length = _length_of(segment)
            if length is None:
                return None
            total += length
        return total

    @property
    def replayable(self) -> bool:
        """Whether the client can send it again."""
        return all(
            isinstance(segment, bytes) or (isinstance(segment, FileSegment) and segment.start is not None)
            for segment in self.segments
        )

    def chunks(self) -> Iterator[bytes]:
        """Reads from the beginning. Errors of the caller's content become `ContentError`."""
        for segment in self.segments:
            if isinstance(segment, bytes):
                yield segment
                continue
            try:
                yield from _pieces(segment)
            except Exception as error:
                raise ContentError(error) from error

    async def async_chunks(self, read: Callable[..., Awaitable[Any]]) -> AsyncGenerator[bytes, None]:
        """As `chunks`. `read` runs blocking reads outside of the event loop."""
        for segment in self.segments:
            if isinstance(segment, bytes):
                yield segment
                continue
            try:
                if isinstance(segment, FileSegment):
                    await read(segment.rewind)
                    left = segment.length
                    while chunk := _sound(await read(segment.reader.read, _next_size(left))):
                        left = None if left is None else left - len(chunk)
                        yield chunk
                    _check_end(left)
                elif isinstance(segment.chunks, AsyncIterable):
                    async for chunk in segment.chunks:
                        yield _sound(chunk)
                else:
                    for chunk in segment.chunks:
                        yield _sound(chunk)
            except Exception as error:
                raise ContentError(error) from error


def _pieces(segment: FileSegment | StreamSegment) -> Iterator[bytes]:
    if isinstance(segment, FileSegment):
        segment.rewind()
        left = segment.length
        while chunk := _sound(segment.reader.read(_next_size(left))):
            left = None if left is None else left - len(chunk)
            yield chunk
        _check_end(left)
    elif isinstance(segment.chunks, AsyncIterable):
        raise SvcError("The content is an async iterable, which only AsyncClient accepts.")
    else:
        for chunk in segment.chunks:
            yield _sound(chunk)


def _next_size(left: int | None) -> int:
    return _CHUNK if left is None else min(_CHUNK, left)


def _check_end(left: int | None) -> None:
    if left:
        raise SvcError("The file became shorter while it was sent.")


def _sound(chunk: object) -> bytes:
    if isinstance(chunk, (bytes, bytearray, memoryview)):
        return bytes(cast("Any", chunk))
    raise SvcError("The content must yield bytes.")


def _length_of(segment: Segment) -> int | None:
    if isinstance(segment, bytes):
        return len(segment)
    return segment.length if isinstance(segment, FileSegment) else None


def content_segments(content: BinaryContent) -> tuple[Segment, ...]:
    if isinstance(content, (bytes, bytearray, memoryview)):
        return (bytes(content),)
    if isinstance(content, (list, tuple)):
        return tuple(_sound(chunk) for chunk in cast("Iterable[object]", content))
    if isinstance(content, os.PathLike):
        return (FileSegment(_PathReader(content), 0, os.stat(content).st_size),)
    if callable(getattr(content, "read", None)):
        return (_file_segment(cast("BinaryReader", content)),)
    if isinstance(content, (AsyncIterable, Iterable)) and not isinstance(content, str):
        return (StreamSegment(cast("Iterable[bytes]", content)),)
    raise SvcError("The content must be bytes, a file or an iterable of bytes.")


class _PathReader:
    """Opens the file for each piece, so that none stays open where a call ends early."""

    def __init__(self, path: os.PathLike[str]) -> None:
        self._path = path
        self._at = 0

    def seek(self, position: int) -> None:
        self._at = position

    def read(self, size: int, /) -> bytes:
        with open(self._path, "rb") as file:
            file.seek(self._at)
            chunk = file.read(size)
        self._at += len(chunk)
        return chunk


def _file_segment(reader: BinaryReader) -> FileSegment:
    file = cast("io.IOBase", reader)
    try:
        if not file.seekable():
            return FileSegment(reader, None, None)
        start = file.tell()
        end = file.seek(0, io.SEEK_END)
        file.seek(start)
    except (AttributeError, OSError, ValueError):
        return FileSegment(reader, None, None)
    return FileSegment(reader, start, max(0, end - start))


def json_text(value: object, operation: OperationSpec | None = None, pointer: str = "") -> bytes:
    """JSON as it is sent: in UTF-8, without white space. The refusal names the place of what JSON cannot say."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode()
    except UnicodeEncodeError:
        # JSON can escape a lone surrogate, UTF-8 cannot. The service decides whether it accepts one.
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        place, rule = _fault_of(value, pointer)
        of_call = "" if operation is None else f" of {operation.name}"
        message = f"The request{of_call} is not valid: {place or 'the whole'}: {rule}"
        raise SvcError(message, operation=None if operation is None else operation.id) from error


def _fault_of(value: object, pointer: str) -> tuple[str, str]:
    """The place (a JSON Pointer) and the rule of the first thing that JSON cannot say."""
    # Each entry has the ids of the containers around it: a container within itself has no end.
    todo: list[tuple[str, object, tuple[int, ...]]] = [(pointer, value, ())]
    while todo:
        place, found, around = todo.pop()
        if isinstance(found, float) and not math.isfinite(found):
            return place, "must be a finite number"
        if found is None or isinstance(found, (str, int, float)):
            continue
        if not isinstance(found, (dict, list, tuple)):
            return place, f"is of the type {type(found).__name__}, which JSON does not have"
        own = id(cast("object", found))
        if own in around or len(around) > _DEPTH_SHOWN:
            return place, "cannot be written as JSON"
        inside = (*around, own)
        if isinstance(found, dict):
            members = list(cast("dict[object, object]", found).items())
            odd = [name for name, _ in members if not (name is None or isinstance(name, (str, int, float)))]
            if odd:
                return place, f"has a name of the type {type(odd[0]).__name__}, which JSON does not have"
        else:
            members = list(enumerate(cast("list[object]", found)))
        named = [
            (f"{place}/{str(name).replace('~', '~0').replace('/', '~1')}", each) for name, each in members
        ]
        todo += [(at, each, inside) for at, each in reversed(named)]
    return pointer, "cannot be written as JSON"


_DEPTH_SHOWN = 1_000
"""Deeper values are more than `json` writes, and more than the service takes."""
