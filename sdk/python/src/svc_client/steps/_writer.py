"""Writes a journal, and reads it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ._entries import Entry, is_settled
from ._flow import TURN, Flow, Promise, call
from ._journal import INLINE_BYTES_MAX, Journal, SegmentWrite, may_continue, segment_key, value_key
from ._values import Json, from_wire, value_bytes

if TYPE_CHECKING:
    from ._port import StepPort


class JournalWriter:
    """Entries that come during a write share the next one."""

    def __init__(self, journal: Journal, port: StepPort) -> None:
        self._journal = journal
        self._port = port
        self._current: Promise | None = None
        self._next: Promise | None = None
        self._news: list[Entry] = []

    def put(self, entry: Entry) -> Flow[None]:
        """Keeps an entry; ends after the service has it."""
        yield from self.put_all([entry])

    def put_all(self, entries: Sequence[Entry]) -> Flow[None]:
        """Keeps entries in one write."""
        for entry in entries:
            self._journal.put(entry)
            if is_settled(entry):
                self._news.append(entry)
        yield from self._written()

    def put_value(self, entry: Entry, value: Json) -> Flow[None]:
        """Keeps a value with its entry, in a checkpoint of its own where it is large."""
        if value_bytes(value) <= INLINE_BYTES_MAX:
            yield from self.put({**entry, "v": value})
            return
        ref = value_key(entry["k"])
        yield from call(lambda: self._port.write(ref, value, {}, []))
        yield from self.put({**entry, "ref": ref})

    def _written(self) -> Flow[None]:
        if self._current is None:
            yield from self._flush(Promise())
        elif self._next is not None:
            yield self._next
        else:
            # The first that comes during a write makes the next one.
            mine = self._next = Promise()
            done = Promise()
            self._current.when_done(done.resolve)
            yield done
            self._next = None
            yield from self._flush(mine)

    def _flush(self, mine: Promise) -> Flow[None]:
        self._current = mine
        try:
            # Results that come in one turn share the write.
            yield TURN
            news, self._news = self._news, []
            changes = self._journal.changes()
            for write in changes:
                yield from call(partial(self._send, write, news if write is changes[-1] else []))
                self._journal.written(write)
        except BaseException as error:
            self._current = None
            mine.reject(error)
            raise
        self._current = None
        mine.resolve()

    def _send(self, write: SegmentWrite, news: list[Entry]) -> None:
        self._port.write(write.key, write.content, write.metadata, news)


def read_segments(port: StepPort) -> Flow[list[Json]]:
    """The segments of the run; those that came with the lease are not asked for, nor those of a fresh run,
    unless its start gave checkpoints."""
    segments: list[Json] = []
    while True:
        key = segment_key(len(segments))
        if key in port.given:
            content = port.given[key]
        elif port.run["attempt"] <= 1 and not segments and "firstCheckpoints" not in port.run:
            content = None
        else:
            content = yield from call(partial(port.read, key))
        if content is None:
            return segments
        content = from_wire(content)
        segments.append(content)
        if not may_continue(content, len(segments) - 1):
            return segments
