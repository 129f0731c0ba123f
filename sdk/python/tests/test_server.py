"""Against the real service."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any

import pytest
from flavours import Flavour
from service import NODE, running
from wire import ROOT, call, cases, name_of

from svc_client import (
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    NotFoundError,
    PayloadTooLargeError,
    PermissionDeniedError,
    PreconditionFailedError,
)

_tenants = count(1)
CATALOG = json.loads((ROOT / "contracts/public-sdk-surface.json").read_bytes())
PROBLEMS = {each["id"]: each["problems"] for each in CATALOG["operations"]}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running() as found:
        yield found


@pytest.fixture
def client(sdk: Flavour, address: str) -> Any:
    return sdk.client(address)


@pytest.fixture
def tenant() -> str:
    return f"t-{next(_tenants)}"


OPEN = {"status": "open", "amountCents": 125_000}


def creation(tenant: str, name: str, data: dict[str, Any]) -> dict[str, Any]:
    document = {
        "tenantId": tenant,
        "documentType": "claim",
        "id": name,
        "schemaVersion": "1",
        "data": data,
        "indexes": {"status": data["status"]},
    }
    return {
        "idempotencyKey": f"create-{name}",
        "mutations": [{"document": document, "precondition": {"mustNotExist": True}}],
        "outbox": [{"topic": "claim.created", "key": name, "payload": data}],
    }


def test_commits_replays_and_reads(sdk: Flavour, client: Any, tenant: str) -> None:
    first = sdk.call(client, "commit_canonical_transaction", tenant, creation(tenant, "1", OPEN))
    assert (first["tenantId"], first["replayed"]) == (tenant, False)
    options = {"correlation_id": "again-1"}
    request = creation(tenant, "1", OPEN)
    again = sdk.raw(client, "commit_canonical_transaction", tenant, request, options=options)
    assert again.data == {**first, "replayed": True}
    assert again.headers["idempotency-replayed"] == "true"
    assert again.correlation_id == "again-1"
    document = sdk.call(client, "get_canonical_document", tenant, {"documentType": "claim", "id": "1"})
    assert (document["revision"], document["data"]) == (1, OPEN)


def test_refuses_in_the_words_of_the_contract(sdk: Flavour, client: Any, tenant: str) -> None:
    commit = partial(sdk.call, client, "commit_canonical_transaction", tenant)
    commit(creation(tenant, "1", OPEN))
    with pytest.raises(ConflictError) as conflict:
        commit(creation(tenant, "1", {**OPEN, "amountCents": 1}))
    assert (conflict.value.code, conflict.value.retryable) == ("idempotency_conflict", False)
    with pytest.raises(PreconditionFailedError) as precondition:
        commit({**creation(tenant, "1", OPEN), "idempotencyKey": "another"})
    assert precondition.value.code == "precondition_failed"
    options = {"correlation_id": "c-404"}
    with pytest.raises(NotFoundError) as absent:
        sdk.call(
            client, "get_canonical_document", tenant, {"documentType": "claim", "id": "2"}, options=options
        )
    assert (absent.value.code, absent.value.correlation_id) == ("not_found", "c-404")
    with pytest.raises(BadRequestError) as misspelt:
        sdk.run(sdk.call(client, "query_canonical_documents", tenant, {"limt": 1}).first)
    assert misspelt.value.errors[0]["pointer"] == "/limt"
    with pytest.raises(BadRequestError) as segment:
        sdk.call(client, "export_canonical_tenant", "a/b")
    assert segment.value.code == "invalid_path_segment"
    with pytest.raises(PayloadTooLargeError) as large:
        commit({"idempotencyKey": "k", "actor": "x" * 9_000_000})
    assert large.value.code == "payload_too_large"


def test_pages_to_the_end(sdk: Flavour, client: Any, tenant: str) -> None:
    ids = [f"c-{at}" for at in range(7)]
    for name in ids:
        sdk.call(client, "commit_canonical_transaction", tenant, creation(tenant, name, OPEN))
    query = {"documentType": "claim", "indexes": {"status": "open"}, "limit": 3}
    found = sdk.call(client, "query_canonical_documents", tenant, query)
    assert [document["id"] for document in sdk.each(found)] == ids
    sizes = [len(page["items"]) for page in sdk.each(found.iter_pages())]
    assert sum(sizes) == 7
    assert len(sizes) > 2
    events = sdk.call(client, "query_canonical_outbox", tenant, {"limit": 2})
    assert sorted(event["key"] for event in sdk.run(events.collect)) == ids


def test_delivers_its_outbox_ids_with_a_colon_included(sdk: Flavour, client: Any, tenant: str) -> None:
    sdk.call(client, "commit_canonical_transaction", tenant, creation(tenant, "1", OPEN))
    wish = {"consumerId": "me", "leaseSeconds": 30}
    [lease] = sdk.call(client, "lease_canonical_outbox", tenant, wish)
    event, token = lease["event"], lease["leaseToken"]
    assert (event["topic"], event["payload"]) == ("claim.created", OPEN)
    assert ":" in event["id"]
    sdk.call(
        client, "renew_canonical_outbox_lease", tenant, event["id"], {"leaseToken": token, "leaseSeconds": 60}
    )
    assert (
        sdk.call(client, "acknowledge_canonical_outbox", tenant, event["id"], {"leaseToken": token}) is None
    )
    with pytest.raises(ConflictError):
        sdk.call(client, "release_canonical_outbox", tenant, event["id"], {"leaseToken": "another"})
    delivered = sdk.call(client, "query_canonical_outbox", tenant, {"state": "delivered"})
    assert [each["id"] for each in sdk.run(delivered.collect)] == [event["id"]]


def test_copies_a_tenant_byte_for_byte(sdk: Flavour, client: Any, tenant: str) -> None:
    odd = {
        "status": "open",
        "float": 0.1 + 0.2,
        "large": 2**53 - 1,
        "text": "\u00e4\u2028\U0001f600",
        "deep": [[{}]],
    }
    sdk.call(client, "commit_canonical_transaction", tenant, creation(tenant, "\u00e4/1", odd))
    snapshot = sdk.call(client, "export_canonical_tenant", tenant)
    request = {"snapshot": snapshot, "expectedContentHash": snapshot["contentHash"]}
    assert sdk.call(client, "restore_canonical_tenant", tenant, request) is None
    assert sdk.call(client, "export_canonical_tenant", tenant)["contentHash"] == snapshot["contentHash"]
    streamed = sdk.stream(client, "export_canonical_tenant", tenant)
    assert json.loads(sdk.run(streamed.read))["contentHash"] == snapshot["contentHash"]


def test_tells_of_itself(sdk: Flavour, client: Any) -> None:
    assert sdk.call(client, "health")["status"] == "ok"
    assert sdk.call(client, "readiness")["ready"] is True
    assert sdk.call(client, "openapi_contract")["openapi"] == "3.1.0"
    bundle = sdk.raw(client, "get_public_schema_contract")
    assert "application/schema+json" in bundle.headers["content-type"]
    report = sdk.call(client, "get_canonical_preflight")
    assert (report["provider"], report["dataPlaneProbe"]) == ("sqlite", None)
    assert sdk.call(client, "probe_canonical_data_plane")["dataPlaneProbe"] is not None
    migration = {"namespace": "n", "id": "1", "checksum": "sha256:" + "0" * 64}
    sdk.call(client, "apply_canonical_migrations", [migration])
    ledger = sdk.call(client, "list_canonical_migrations")
    assert [(each["namespace"], each["id"]) for each in ledger] == [("n", "1")]


def test_is_of_the_release_of_the_client(sdk: Flavour, client: Any) -> None:
    assert sdk.call(client, "health")["version"] == sdk.module.VERSION


# The codes of a request that breaks the contract; stored data does not matter.
MISSHAPEN = {
    *("malformed_request", "invalid_path_segment", "validation_failed", "limit_exceeded", "tenant_mismatch"),
    *(
        "route_not_found",
        "method_not_allowed",
        "unsupported_media_type",
        "headers_too_large",
        "internal_error",
    ),
}


def test_the_codes_are_those_of_the_contract() -> None:
    vocabulary = json.loads((ROOT / "contracts/errors.json").read_bytes())
    assert {each["code"] for each in vocabulary["errors"]} >= MISSHAPEN


@pytest.mark.parametrize("case", cases(), ids=name_of)
def test_every_request_that_the_sdks_are_held_to_is_understood(sdk: Flavour, client: Any, case: Any) -> None:
    code, is_of_rule = None, False
    try:
        call(sdk, client, case)
    except APIStatusError as error:
        code = error.code
        is_of_rule = case["case"] == "everything" and _is_of_rule(error)
    assert is_of_rule or code not in MISSHAPEN
    assert code in [None, *PROBLEMS[case["operation"]]]


def _is_of_rule(error: APIStatusError) -> bool:
    """Members of one request may exclude each other. What the schema refuses is refused by a keyword of it."""
    places = error.errors
    return (
        error.code == "validation_failed"
        and len(places) > 0
        and all("keyword" not in place for place in places)
    )


PRINCIPAL, API_KEY = "writer@project.example", "one-api-key"


@pytest.fixture(scope="module")
def issued() -> Iterator[dict[str, Any]]:
    """A service that asks for a key and an identity, with tokens of its issuer."""
    command = [NODE, "sdk/python/tests/issued-service.ts", PRINCIPAL, "acme", API_KEY]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as issuer:
        assert issuer.stdout is not None
        said = json.loads(issuer.stdout.readline())
        with running(said["settings"]) as address:
            yield {**said, "address": address}
        issuer.communicate()


def test_a_key_and_a_token_open_what_they_are_for(sdk: Flavour, issued: dict[str, Any]) -> None:
    commit = {"idempotencyKey": "k", "outbox": [{"topic": "t", "key": "k", "payload": {}}]}

    def write(tenant: str, **options: Any) -> Any:
        client = sdk.client(issued["address"], **options)
        return sdk.call(client, "commit_canonical_transaction", tenant, commit)

    known = {"api_key": API_KEY, "token": lambda: issued["known"]}
    assert write("acme", **known)["actor"] == PRINCIPAL
    with pytest.raises(PermissionDeniedError):
        write("other", **known)
    with pytest.raises(PermissionDeniedError):
        write("acme", api_key=API_KEY, token=issued["stranger"])
    with pytest.raises(AuthenticationError) as refused:
        write("acme", api_key=API_KEY, token="a.b.c")
    assert (refused.value.code, refused.value.retryable) == ("unauthenticated", False)
    with pytest.raises(AuthenticationError):
        write("acme", token=issued["known"])
    with pytest.raises(PermissionDeniedError):
        write("acme", api_key=API_KEY)
    assert sdk.call(sdk.client(issued["address"]), "health")["status"] == "ok"
