"""The journal of a run, without I/O. Format: `sdk/steps/journal.md`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from ._entries import Entry, ordered, read_entry
from ._faults import ChangedCode, Stop, quoted
from ._values import Json, bytes_of, text_of

FORMAT = 1
INLINE_BYTES_MAX = 16_000
_SEGMENT_BYTES_MAX = 60_000
# A segment up to this size is the last one: the next entry would have had room.
_LAST_BYTES_MAX = 40_000
_ENTRIES_MAX = 10_000
SEGMENTS_MAX = 16
# Undoing must be possible where a run has filled its journal.
_SPARE_SEGMENTS = 4


@dataclass(frozen=True)
class Head:
    """The first entry of a journal."""

    handler: str
    version: str


@dataclass(frozen=True)
class SegmentWrite:
    """A segment as it is to be written."""

    key: str
    content: Sequence[Entry]
    metadata: Mapping[str, str]
    number: int
    version: int


@dataclass
class _Segment:
    entries: list[Entry]
    places: dict[str, int]
    """The place of each key."""
    bytes: int
    """Of the text of the segment."""
    version: int = 0
    """Counts the changes."""
    written_version: int = 0


def segment_key(number: int) -> str:
    return f"svc.steps.{number}"


def value_key(key: str) -> str:
    return f"svc.step.{key}"


def may_continue(content: Json, number: int) -> bool:
    """Whether a segment may follow one with this content, so that it must be asked for."""
    return number + 1 < SEGMENTS_MAX + _SPARE_SEGMENTS and bytes_of(text_of(content)) > _LAST_BYTES_MAX


class Journal:
    def __init__(self, head: Head, segments: Sequence[Sequence[Entry]]) -> None:
        self.head = head
        self.is_fresh = not segments
        """Whether no earlier execution has written anything."""
        self._entries: dict[str, Entry] = {}
        self._segments = [_segment_of(entries) for entries in segments]
        for entries in segments:
            self._entries.update((entry["k"], entry) for entry in entries)
        if self.is_fresh:
            value = {"format": FORMAT, "handler": head.handler, "version": head.version}
            self._begin({"k": "@", "t": "mark", "v": value})

    @staticmethod
    def of(contents: Sequence[Json], head: Head) -> Journal:
        """The journal of these segments. Raises `ChangedCode` where this kit cannot read it."""
        read: list[list[Entry]] = []
        for content in contents:
            if not isinstance(content, list):
                raise ChangedCode("A segment of the journal of the run is no list")
            read.append([read_entry(each) for each in cast("Sequence[Json]", content)])
        return Journal(head if not read else _head_of(read[0]), read)

    def find(self, key: str, kind: str) -> Entry | None:
        """The entry of an operation. Raises where its kind is another one."""
        found = self._entries.get(key)
        if found is not None and found["t"] != kind:
            raise ChangedCode(f"{quoted(key)} was a {found['t']} and is a {kind} now")
        return found

    def all_keys(self) -> list[str]:
        """All keys, in the order of their first entries."""
        return [*self._entries]

    def put(self, given: Entry) -> None:
        """Keeps an entry. It is one of the `changes` until it is `written`."""
        entry = ordered(given)
        key = entry["k"]
        is_spare = entry["t"] == "undo" or key == "@ending"
        if key not in self._entries and len(self._entries) >= _ENTRIES_MAX and not is_spare:
            raise _full()
        last = self._segments[-1]
        place = last.places.get(key)
        size = last.bytes + _size_of(entry) - (0 if place is None else _size_of(last.entries[place]))
        # The second rule holds for a large event only. Without it a reader would take the segment for the last one.
        if size <= _SEGMENT_BYTES_MAX or last.bytes <= _LAST_BYTES_MAX:
            if place is None:
                last.places[key] = len(last.entries)
                last.entries.append(entry)
            else:
                last.entries[place] = entry
            last.bytes = size
            last.version += 1
            self._entries[key] = entry
            return
        if len(self._segments) >= SEGMENTS_MAX + (_SPARE_SEGMENTS if is_spare else 0):
            raise _full()
        self._begin(entry)

    def changes(self) -> list[SegmentWrite]:
        """The segments with entries that are not written, in their order."""
        return [
            SegmentWrite(
                segment_key(number),
                [*each.entries],
                {"steps": str(len(each.entries))},
                number,
                each.version,
            )
            for number, each in enumerate(self._segments)
            if each.version != each.written_version
        ]

    def written(self, write: SegmentWrite) -> None:
        """Notes that the service has a segment."""
        self._segments[write.number].written_version = write.version

    def _begin(self, entry: Entry) -> None:
        segment = _segment_of([entry])
        # The head alone is no reason to write.
        segment.version = 0 if entry["k"] == "@" else 1
        self._segments.append(segment)
        self._entries[entry["k"]] = entry


def _segment_of(entries: Sequence[Entry]) -> _Segment:
    places = {entry["k"]: at for at, entry in enumerate(entries)}
    return _Segment([*entries], places, 1 + sum(_size_of(entry) for entry in entries))


def _size_of(entry: Entry) -> int:
    """With the comma or the bracket that follows."""
    return bytes_of(text_of(entry)) + 1


def _head_of(entries: Sequence[Entry]) -> Head:
    first = entries[0] if entries else {}
    is_head = first.get("k") == "@" and first.get("t") == "mark"
    value = first.get("v") if is_head else None
    members = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
    kept = members.get("format")
    if isinstance(kept, bool) or kept != FORMAT:
        raise ChangedCode(f"The journal of the run has the format {text_of(kept)}; this kit reads {FORMAT}")
    handler, version = members.get("handler"), members.get("version")
    if not isinstance(handler, str) or not isinstance(version, str):
        raise ChangedCode("The journal of the run has a head that this kit cannot read")
    return Head(handler, version)


def _full() -> Stop:
    return Stop(
        f"The journal of the run is full: {_ENTRIES_MAX} entries, or {SEGMENTS_MAX} segments."
        " Split the work into child runs."
    )
