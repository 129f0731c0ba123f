"""The types of the clients as type checkers see them. Checked, and never run."""

from collections.abc import AsyncIterator, Iterator
from typing import Literal, TypedDict

from typing_extensions import assert_type

from svc_client import (
    APIResponse,
    AsyncClient,
    AsyncPages,
    AsyncStreamedResponse,
    BadRequestError,
    Client,
    Pages,
    Problem,
    StreamedResponse,
    SvcError,
    models,
)


class Claim(TypedDict):
    status: Literal["reported", "paid"]
    lines: list[dict[str, int]]


def writes(
    client: Client, claim: Claim, some: list[models.CanonicalMutation]
) -> models.CanonicalTransactionResult:
    document: models.CanonicalDocumentInput = {
        "tenantId": "t",
        "documentType": "c",
        "id": "1",
        "schemaVersion": "1",
        "data": claim,
        "indexes": {"status": claim["status"]},
    }
    mutation: models.CanonicalMutation = {"document": document, "precondition": {"mustNotExist": True}}
    request: models.CanonicalTransactionRequest = {
        "idempotencyKey": "k",
        "mutations": [mutation, *some],
        "fences": (
            {
                "operation": "claim",
                "name": "n",
                "value": "v",
                "ownerDocumentType": "c",
                "ownerDocumentId": "1",
            },
        ),
        "outbox": [{"topic": "t", "key": "k", "payload": claim}, {"topic": "t", "key": "k", "payload": None}],
    }
    assert_type(client.restore_canonical_tenant("t", {"snapshot": client.export_canonical_tenant("t")}), None)
    return client.commit_canonical_transaction("t", request, options={"timeout": 5, "correlation_id": "c"})


def finds(client: Client) -> int | None:
    found = client.find_canonical_document("t", {"documentType": "c", "id": "1"})
    assert_type(found, models.CanonicalDocument | None)
    return None if found is None else found["revision"]


async def finds_later(client: AsyncClient) -> None:
    found = await client.find_canonical_document(
        "t", {"documentType": "c", "id": "1", "includeDeleted": True}
    )
    assert_type(found, models.CanonicalDocument | None)


def reads(client: Client) -> Iterator[models.CanonicalDocument]:
    pages = client.query_canonical_documents("t", {"documentType": "c", "orderDirection": "descending"})
    assert_type(pages, Pages[models.CanonicalDocument, models.CanonicalDocumentQueryResult])
    assert_type(pages.first(), models.CanonicalDocumentQueryResult)
    assert_type(pages.first()["continuationToken"], str | None)
    assert_type(pages.collect(limit=5), list[models.CanonicalDocument])
    for page in pages.iter_pages():
        assert_type(page["items"], list[models.CanonicalDocument])
    for event in client.query_canonical_outbox("t"):
        assert_type(event, models.CanonicalOutboxEvent)
    answer = client.with_raw_response.health()
    assert_type(answer, APIResponse[models.ServerHealthStatus])
    assert_type(answer.data["version"], str)
    assert_type(client.with_raw_response.query_canonical_outbox("t").data, models.CanonicalOutboxQueryResult)
    with client.with_streaming_response.export_canonical_tenant("t") as stream:
        assert_type(stream, StreamedResponse)
        assert_type(stream.read(), bytes)
    assert_type(
        client.wait_for_execution_run("1", wait_timeout=5, options={"timeout": 9}), models.ExecutionRun
    )
    with client.with_options(timeout=1, token=lambda: "t") as other:
        assert_type(other, Client)
    yield from pages


async def waits(client: AsyncClient) -> AsyncIterator[models.CanonicalDocument]:
    pages = client.query_canonical_documents("t")
    assert_type(pages, AsyncPages[models.CanonicalDocument, models.CanonicalDocumentQueryResult])
    assert_type(await pages, models.CanonicalDocumentQueryResult)
    assert_type(await pages.collect(), list[models.CanonicalDocument])
    assert_type(
        await client.get_canonical_document("t", {"documentType": "c", "id": "1"}), models.CanonicalDocument
    )
    assert_type((await client.with_raw_response.health()).data, models.ServerHealthStatus)
    assert_type(
        await client.with_raw_response.query_canonical_documents("t"),
        APIResponse[models.CanonicalDocumentQueryResult],
    )
    async with await client.with_streaming_response.export_canonical_tenant("t") as stream:
        assert_type(stream, AsyncStreamedResponse)
        async for chunk in stream:
            assert_type(chunk, bytes)

    async def token() -> str:
        return "t"

    assert_type(await client.wait_for_execution_run("1", wait_timeout=0.5), models.ExecutionRun)
    async with client.with_options(token=token, headers={"x-a": None}) as other:
        assert_type(other, AsyncClient)
    async for document in pages:
        assert_type(document["data"], models.JsonObject | None)
        yield document


def fails(error: SvcError) -> Problem | None:
    if isinstance(error, BadRequestError):
        assert_type(error.status, int)
        assert_type(error.retry_after, float | None)
        for place in error.errors:
            assert_type(place["pointer"], str)
        return error.problem
    return None


def linked(client: Client) -> None:
    for run in client.pages(client.list_execution_runs, status="failed", limit=200):
        print(run["id"])
