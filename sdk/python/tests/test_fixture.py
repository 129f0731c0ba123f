"""Another contract: forms, bytes, parameters, a key in a header, previews and what is deprecated."""

from __future__ import annotations

import base64
import io
import json
import threading
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from flavours import Flavour
from hypothesis import HealthCheck, given, settings, strategies
from stage import Clock, Stage, empty, foreign, hang_up
from stage import json as answer
from typing_tools import Fault, mypy, pyright
from wire import call, cases, name_of, observed, parts_of

from svc_client import APIConnectionError, FilePart
from svc_client._body import Body, content_segments, json_text
from svc_client._multipart import multipart
from svc_client._operation import PartSpec

MANIFEST = {"id": "a"}
BOX = {"kind": "box", "width": 1}

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def test_makes_the_request_of_every_operation(depots: Flavour, fixture_folder: Path) -> None:
    found = cases(fixture_folder / "sdk/wire/requests.json")
    assert {case["operation"] for case in found} == {"listParcels", "findParcel", "ingestParcel", "putBytes"}
    for case in found:
        with Stage(answer(BOX)) as stage:
            call(depots, depots.client(stage), case)
        assert [observed(seen) for seen in stage.seen] == [case["expect"]], name_of(case)


def test_a_form_is_sent_as_it_is_read_without_being_gathered(depots: Flavour) -> None:
    arrived = threading.Event()

    def first(piece: bytes) -> None:
        if b"first" in piece:
            arrived.set()

    # The second chunk is made only once the server holds the first: a client that gathers would wait in vain.
    class Content(io.RawIOBase):
        chunks = iter([b"first", b"second", b""])

        def read(self, size: int = -1) -> bytes:
            chunk = next(self.chunks)
            if chunk == b"second":
                assert arrived.wait(30)
            return chunk

    with Stage(answer(BOX, 202, {"location": "/parcels/1"})) as stage:
        stage.on_piece(first)
        artifact = depots.module.FilePart(Content(), filename="p.bin", content_type="x/y")
        client = depots.client(stage)
        found = depots.raw(client, "ingest_parcel", {"manifest": MANIFEST, "artifact": artifact})
    assert (found.data, found.status, found.headers["location"]) == (BOX, 202, "/parcels/1")
    content = base64.b64encode(b"firstsecond").decode()
    assert observed(stage.seen[0])["body"] == {
        "parts": [
            {
                "name": "manifest",
                "filename": None,
                "contentType": "application/json",
                "body": {"json": '{"id":"a"}'},
            },
            {"name": "artifact", "filename": "p.bin", "contentType": "x/y", "body": {"base64": content}},
        ]
    }
    assert stage.seen[0].headers["transfer-encoding"] == "chunked"


def generated() -> Iterator[bytes]:
    yield b"con"
    yield b""
    yield b"tent"


async def _async_generated() -> Any:
    yield b"con"
    yield b"tent"


def _wound(text: bytes, to: int) -> io.BytesIO:
    file = io.BytesIO(text)
    file.seek(to)
    return file


CONTENTS: dict[str, tuple[Callable[[], Any], bool]] = {
    "bytes": (lambda: b"content", True),
    "bytearray": (lambda: bytearray(b"content"), True),
    "memoryview": (lambda: memoryview(b"content"), True),
    "list": (lambda: [b"con", b"tent"], True),
    "a file": (lambda: io.BytesIO(b"content"), True),
    "a file from where it stands": (lambda: _wound(b"not this content", 9), True),
    "a generator": (generated, False),
    "an async generator": (_async_generated, False),
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_takes(depots: Flavour, kind: str) -> None:
    make, sized = CONTENTS[kind]
    with Stage(empty) as stage:
        client = depots.client(stage)
        part = depots.module.FilePart(make())
        if kind.startswith("an async") and depots.name == "sync":
            with pytest.raises(depots.module.SvcError, match="AsyncClient"):
                depots.call(client, "ingest_parcel", {"manifest": MANIFEST, "artifact": part})
            return
        assert depots.call(client, "ingest_parcel", {"manifest": MANIFEST, "artifact": part}) is None
        depots.call(client, "put_bytes", make())
    parts = observed(stage.seen[0])["body"]["parts"]
    assert parts[1]["body"] == {"base64": base64.b64encode(b"content").decode()}
    assert stage.seen[1].body == b"content"
    assert [("content-length" in seen.headers) for seen in stage.seen] == [sized, sized]


@pytest.mark.parametrize("content", ["text", 5, None, ["text"], [5], io.StringIO("text")])
def test_takes_no_text(depots: Flavour, content: Any) -> None:
    with Stage(empty) as stage:
        client = depots.client(stage)
        with pytest.raises(depots.module.SvcError):
            depots.call(client, "put_bytes", content)
        part = depots.module.FilePart(content)
        with pytest.raises(depots.module.SvcError):
            depots.call(client, "ingest_parcel", {"manifest": MANIFEST, "artifact": part})
        for request in ({"manifest": MANIFEST, "artifact": b"bare"}, [MANIFEST]):
            with pytest.raises(depots.module.SvcError):
                depots.call(client, "ingest_parcel", request)


def test_a_form_cannot_be_broken_out_of_by_a_name(depots: Flavour) -> None:
    with Stage(empty) as stage:
        artifact = depots.module.FilePart(b"", filename='a"\r\nX: y', content_type="x/y\r\nX: y")
        depots.call(depots.client(stage), "ingest_parcel", {"manifest": MANIFEST, "artifact": artifact})
    assert b'filename="a%22%0D%0AX: y"\r\nContent-Type: x/yX: y\r\n\r\n' in stage.seen[0].body


@pytest.mark.parametrize(
    ("named", "content", "times"),
    [
        ({"idempotency_key": "k"}, lambda: b"x", 2),
        ({"idempotency_key": "k"}, lambda: _wound(b"yx", 1), 2),
        ({"options": {"headers": {"idempotency-key": "k"}}}, lambda: b"x", 2),
        ({"idempotency_key": ""}, lambda: b"x", 1),
        ({}, lambda: b"x", 1),
        ({"idempotency_key": "k"}, lambda: iter([b"x"]), 1),
    ],
    ids=["bytes", "a file", "a key among the headers", "an empty key", "no key", "a stream"],
)
def test_a_form_goes_again_with_a_key_if_it_can_be_read_again(
    depots: Flavour, named: dict[str, Any], content: Callable[[], Any], times: int
) -> None:
    clock = Clock()
    with Stage(hang_up, answer(BOX, 202)) as stage:
        client = depots.client(stage, clock)
        request = {"manifest": MANIFEST, "artifact": depots.module.FilePart(content())}
        if times == 2:
            assert depots.call(client, "ingest_parcel", request, **named) == BOX
            first, second = stage.seen
            assert (first.body, first.headers) == (second.body, second.headers)
            assert first.headers["idempotency-key"] == "k"
        else:
            with pytest.raises(depots.module.APIConnectionError):
                depots.call(client, "ingest_parcel", request, **named)
    assert len(stage.seen) == times


def test_a_form_that_breaks_off_in_the_callers_hands_is_the_callers_to_see(depots: Flavour) -> None:
    reason = OSError("the disk is gone")

    def content() -> Iterator[bytes]:
        yield b"first"
        raise reason

    with Stage(answer(BOX)) as stage:
        client = depots.client(stage)
        request = {"manifest": MANIFEST, "artifact": depots.module.FilePart(content())}
        with pytest.raises(OSError, match="the disk is gone") as failed:
            depots.call(client, "ingest_parcel", request, idempotency_key="k")
        assert failed.value is reason
        assert stage.seen == []
        # The broken connection is not used again.
        assert depots.run(depots.call(client, "put_bytes", b"x").read) == json.dumps(BOX).encode()


def test_a_file_that_becomes_shorter_ends_the_call(depots: Flavour) -> None:
    class Shrinking(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            self.truncate(5)
            return super().read(size)

    with Stage(empty) as stage:
        with pytest.raises(depots.module.SvcError, match="shorter"):
            depots.call(depots.client(stage), "put_bytes", Shrinking(b"x" * 200_000))
    assert stage.seen == []


def test_a_file_that_becomes_longer_is_sent_as_it_was(depots: Flavour) -> None:
    class Growing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            at = self.tell()
            self.seek(0, io.SEEK_END)
            self.write(b"more")
            self.seek(at)
            return super().read(size)

    with Stage(empty) as stage:
        depots.call(depots.client(stage), "put_bytes", Growing(b"x" * 70_000))
    assert stage.seen[0].body == b"x" * 70_000
    # The server would take bytes beyond the announced length for the next request.
    body = Body(content_segments(Growing(b"x" * 70_000)))
    assert body.length == sum(len(chunk) for chunk in islice(body.chunks(), 5)) == 70_000


def test_answers_of_a_failure_that_the_contract_describes_are_returned(depots: Flavour) -> None:
    broken_box = {"kind": "box", "width": 3}
    with Stage(answer(broken_box, 503), foreign(500)) as stage:
        client = depots.client(stage)
        request = {"manifest": MANIFEST, "artifact": depots.module.FilePart(b"")}
        assert depots.call(client, "ingest_parcel", request) == broken_box
        with pytest.raises(depots.module.InternalServerError):
            depots.call(client, "ingest_parcel", request)


def test_answers_of_bytes_are_a_stream(depots: Flavour) -> None:
    def slowly(reply: Any, _: Any) -> None:
        head = (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        reply.write(head + b"5\r\nfirst\r\n")
        stage.done.wait(30)
        reply.write(b"6\r\nsecond\r\n0\r\n\r\n")

    with Stage(slowly) as stage:
        client = depots.client(stage)
        stream = depots.call(client, "put_bytes", b"x")
        chunks = depots.each(stream)
        assert next(chunks) == b"first"
        stage.done.set()
        assert b"".join(chunks) == b"second"
        found = depots.raw(client, "put_bytes", b"x")
        assert (found.data, found.status) == (b"firstsecond", 200)


def test_parameters_go_by_their_names(depots: Flavour) -> None:
    with Stage(answer(BOX)) as stage:
        client = depots.client(stage)
        after = "2026-01-01T00:00:00Z"
        tags = {"a b": "1", "c": None, "d": True, "e": 2.0, "f": 2.5, "g": 1e300}
        depots.call(client, "list_parcels", "d", after=after, tag=tags, limit=None, order="up")
        with pytest.raises(TypeError, match="after"):
            depots.call(client, "list_parcels", "d")
    assert stage.seen[0].target == (
        "/depots/d/parcels?after=2026-01-01T00%3A00%3A00Z&tag.a%20b=1&tag.d=true&tag.e=2&tag.f=2.5"
        "&tag.g=1e%2B300&order=up"
    )


class TestWarnings:
    @pytest.mark.filterwarnings("error")
    def test_of_a_preview_and_of_what_is_deprecated_point_at_the_caller(self, depots: Flavour) -> None:
        module = depots.module
        request = {"manifest": MANIFEST, "artifact": module.FilePart(b"")}
        with Stage(answer(BOX)) as stage:
            client = depots.client(stage)
            with pytest.warns(module.PreviewWarning, match="ingest_parcel is a preview") as previews:
                depots.run(lambda: client.ingest_parcel(request))
            text = "find_parcel is deprecated since 9.0.0 and removed in 10.0.0: use list_parcels"
            with pytest.warns(DeprecationWarning, match=text) as deprecations:
                depots.run(lambda: client.find_parcel("d", {"id": "a"}))
            depots.call(client, "put_bytes", b"")
        own = __file__ if depots.name == "sync" else "flavours.py"
        for found in (previews, deprecations):
            assert [warning.filename.endswith(own) for warning in found] == [True]

    @pytest.mark.filterwarnings("error")
    def test_a_preview_can_be_asked_for(self, depots: Flavour) -> None:
        request = {"manifest": MANIFEST, "artifact": depots.module.FilePart(b"")}
        with Stage(answer(BOX)) as stage, warnings.catch_warnings():
            warnings.simplefilter("ignore", depots.module.PreviewWarning)
            assert depots.call(depots.client(stage), "ingest_parcel", request) == BOX

    def test_stand_in_the_docs_and_the_types(self, fixture_module: Any, fixture_folder: Path) -> None:
        for client in (fixture_module.Client, fixture_module.AsyncClient):
            assert "**Preview**" in client.ingest_parcel.__doc__
            assert (
                "**Deprecated** since 9.0.0 and removed in 10.0.0: use list_parcels."
                in client.find_parcel.__doc__
            )
        stub = (fixture_folder / "svc_fixture/_generated/client.pyi").read_text()
        assert (
            stub.count('@deprecated("Deprecated since 9.0.0 and removed in 10.0.0: use list_parcels")') == 3
        )
        assert "Preview: may change in any release" in fixture_module.models.ParcelManifest.__doc__
        assert (
            "*/ does not end this comment."
            in (fixture_folder / "svc_fixture/_generated/models.py").read_text()
        )


FIXTURE_USE = """
from typing import assert_type
from svc_fixture import APIResponse, AsyncClient, Client, FilePart, StreamedResponse, models

client = Client("https://x.example")
query: models.ParcelQuery = {"id": "a", "strange-name": "it's", "tags": {"a": "b"}, "limit": None}
manifest: models.ParcelManifest = {"manifest": query, "artifact": FilePart(b"")}
parcel = client.list_parcels("d", after="a", order="up", limit=5, tag={"a": "b"})
assert_type(parcel, models.BoxParcel | models.TubeParcel)
assert_type(client.ingest_parcel(manifest, idempotency_key="k"), models.BoxParcel | models.TubeParcel | None)
assert_type(client.put_bytes([b"a"]), StreamedResponse)
assert_type(client.with_raw_response.put_bytes(b"a"), APIResponse[bytes])

def size(parcel: models.Parcel) -> float:
    return parcel["width"] if parcel["kind"] == "box" else parcel["length"]

async def main(client: AsyncClient) -> None:
    async for chunk in await client.put_bytes(b"a"):
        assert_type(chunk, bytes)
"""


def test_types_of_the_other_contract(fixture_folder: Path) -> None:
    program = fixture_folder / "use.py"
    program.write_text(FIXTURE_USE)
    assert of_this_contract(mypy(program, path=fixture_folder, python="3.11")) == []
    assert of_this_contract(pyright(program, path=fixture_folder, python="3.11")) == []
    assert of_this_contract(mypy(fixture_folder / "svc_fixture", path=fixture_folder)) == []


def of_this_contract(faults: list[Fault]) -> list[Fault]:
    """Without those of the waits, worker, steps, dispatcher and the read of a document. They stand on
    operations of the real contract, which this one lacks."""
    missing = (
        '"models.ExecutionRun"',
        '"get_execution_run"',
        '"models.CanonicalDocument',
        '"get_canonical_document"',
    )
    waits = {"_job_waits.py", "_async_job_waits.py"}
    files = ((fault, Path(fault.file)) for fault in faults)
    rooms = {"worker", "steps", "dispatcher"}
    own = [fault for fault, file in files if file.parent.name not in rooms and file.name not in waits]
    return [fault for fault in own if not any(name in fault.message for name in missing)]


names = strategies.text(strategies.characters(exclude_categories=["Cs"]), max_size=20)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(strategies.lists(strategies.tuples(names, strategies.binary(max_size=200)), max_size=4), names)
def test_a_form_keeps_every_value(files: list[tuple[str, bytes]], text: str) -> None:
    specs = (
        PartSpec("manifest", binary=False),
        *(PartSpec(f"f{at}", binary=True) for at in range(len(files))),
    )
    values: dict[str, Any] = {"manifest": {"text": text}}
    for at, (filename, content) in enumerate(files):
        values[f"f{at}"] = FilePart(content, filename)
    body = multipart(specs, values, "svc-b")
    sent = b"".join(body.chunks())
    assert len(sent) == body.length
    manifest, *found = parts_of(sent, "svc-b")
    assert json.loads(manifest["body"]["json"]) == {"text": text}
    assert [base64.b64decode(part["body"]["base64"]) for part in found] == [content for _, content in files]
    escaped = [name.replace("\r", "%0D").replace("\n", "%0A") for name, _ in files]
    assert [part["filename"].replace('"', "%22") for part in found] == [
        name.replace('"', "%22") for name in escaped
    ] or any("%22" in name for name in escaped)


json_values = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats(allow_nan=False, allow_infinity=False)
    | strategies.text(),
    lambda inner: strategies.lists(inner) | strategies.dictionaries(strategies.text(), inner),
    max_leaves=20,
)


@given(json_values)
def test_json_keeps_every_value(value: Any) -> None:
    assert json.loads(json_text(value)) == value


def test_the_connection_error_of_the_package_is_its_own(fixture_module: Any) -> None:
    assert fixture_module.APIConnectionError is not APIConnectionError
