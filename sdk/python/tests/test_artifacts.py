"""Files that arrive with their record: as the client sends them, and against the real service."""

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from flavours import Flavour
from service import running
from stage import Stage
from stage import json as answer
from wire import observed

from svc_client import ConflictError, FilePart

CONTENT = b"abcdefghij" * 30_000
_names = count(1)


def form(name: str, content: Any, **given: Any) -> dict[str, Any]:
    artifact = {"container": "papers", "key": f"{name}/scan.bin", "metadata": {"author": "ada"}}
    manifest = {
        "collection": "papers",
        "record": {"id": name, "partitionKey": "2026"},
        "artifact": artifact,
    }
    return {"manifest": manifest, "artifact": FilePart(content, **given)}


def test_a_file_goes_out_as_it_is_read(sdk: Flavour) -> None:
    arrived = threading.Event()

    def first(piece: bytes) -> None:
        if b"first" in piece:
            arrived.set()

    # The second half exists only once the server holds the first: a client that gathers would wait in vain.
    class Content(io.RawIOBase):
        chunks = iter([b"first", b"second", b""])

        def read(self, size: int = -1) -> bytes:
            chunk = next(self.chunks)
            if chunk == b"second":
                assert arrived.wait(30)
            return chunk

    with Stage(answer({"id": "run-1"}, 202, {"location": "/execution/runs/run-1"})) as stage:
        stage.on_piece(first)
        request = form("a", Content(), filename='scan "1".bin', content_type="application/x-scan")
        client = sdk.client(stage)
        sdk.call(client, "ingest_record_artifact", request, idempotency_key="key-1")
    (seen,) = stage.seen
    assert seen.headers["idempotency-key"] == "key-1"
    _, artifact = observed(seen)["body"]["parts"]
    assert artifact == {
        "name": "artifact",
        "filename": 'scan "1".bin',
        "contentType": "application/x-scan",
        "body": {"base64": base64.b64encode(b"firstsecond").decode()},
    }


def test_a_path_names_the_file_that_it_is(sdk: Flavour, tmp_path: Path) -> None:
    path = tmp_path / "scan.bin"
    path.write_bytes(CONTENT)
    with Stage(answer({"id": "run-1"}, 202)) as stage:
        client = sdk.client(stage)
        sdk.call(client, "ingest_record_artifact", form("a", path))
        with pytest.raises(FileNotFoundError):
            sdk.call(client, "ingest_record_artifact", form("a", tmp_path / "absent"))
    (seen,) = stage.seen
    _, artifact = observed(seen)["body"]["parts"]
    assert artifact["filename"] == "scan.bin"
    assert artifact["body"] == {"base64": base64.b64encode(CONTENT).decode()}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running() as found:
        yield found


@pytest.fixture
def client(sdk: Flavour, address: str) -> Any:
    made = sdk.client(address)
    run = sdk.call(made, "create_collection", {"name": "papers"})
    sdk.call(made, "wait_for_execution_run", run["id"])
    return made


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(65_536):
            yield chunk


KINDS: dict[str, Callable[[Path], Any]] = {
    "bytes": lambda path: path.read_bytes(),
    "a path": lambda path: path,
    "a file object": lambda path: io.BytesIO(path.read_bytes()),
    "an iterator": _chunks,
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_artifact_is_ingested_with_its_record(
    sdk: Flavour, client: Any, kind: str, tmp_path: Path
) -> None:
    name = f"paper-{next(_names)}"
    path = tmp_path / "scan.bin"
    path.write_bytes(CONTENT)
    key = f"ingest-{name}"

    def ingest(content: Any) -> Any:
        return sdk.call(client, "ingest_record_artifact", form(name, content), idempotency_key=key)

    run = ingest(KINDS[kind](path))
    assert run["admission"]["operationId"] == "ingestRecordArtifact"
    ended = sdk.call(client, "wait_for_execution_run", run["id"])
    assert (ended["status"], ended["result"]["recordId"]) == ("succeeded", name)
    assert ended["result"]["artifact"]["contentLength"] == len(CONTENT)
    assert sdk.call(client, "get_record", "papers", "2026", name)["id"] == name
    again = ingest(KINDS[kind](path))
    assert (again["id"], again["admission"]["replayed"]) == (run["id"], True)
    with pytest.raises(ConflictError):
        ingest(b"other bytes")


def test_a_consumer_goes_from_a_collection_to_an_event_of_a_run(sdk: Flavour, client: Any) -> None:
    name = f"consumer-{next(_names)}"
    record = {"id": name, "partitionKey": "2026", "content": {"text": "Hello"}}
    assert sdk.call(client, "upsert_record", "papers", record)["revision"] == 1
    info = sdk.call(client, "put_object", name, "notes/1.txt", b"Hello", content_type="text/plain")
    request = form(f"{name}-2", b"Hello", filename="2.txt", content_type="text/plain")
    run = sdk.call(client, "ingest_record_artifact", request)
    ended = sdk.call(client, "wait_for_execution_run", run["id"])
    assert ended["result"]["artifact"]["etag"] == info["etag"]
    event = {"name": "approval", "payload": {"by": "kim"}}
    raised = sdk.call(client, "raise_execution_event", run["id"], event)
    assert (raised["runId"], raised["payload"]) == (run["id"], event["payload"])
