"""Reads of missing things, and waiting for the end of an import."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest
from flavours import Flavour
from stage import Clock, Stage, problem
from stage import json as answer

from svc_client import (
    APIAbortError,
    APIStatusError,
    APITimeoutError,
    Cancellation,
    Client,
    NotFoundError,
    PermissionDeniedError,
    SvcError,
    World,
)

DOCUMENT = {"documentType": "claim", "id": "7"}
RECORD = ("articles", "2026", "a-1")


def at(status: str) -> Any:
    return answer({"id": "7", "status": status})


def waited(sdk: Flavour, stage: Stage, clock: Clock, **named: Any) -> Any:
    return sdk.call(sdk.client(stage, clock), "wait_for_record_import_job", "7", **named)


@pytest.mark.parametrize("code", ["not_found", "collection_not_found"])
def test_what_does_not_exist_is_none(sdk: Flavour, code: str) -> None:
    with Stage(problem(404, code)) as stage:
        client = sdk.client(stage)
        assert sdk.call(client, "get_record", *RECORD) is None
        assert sdk.call(client, "get_collection_policy", "articles") is None
        assert sdk.call(client, "export_collection", "articles") is None
        assert sdk.call(client, "get_record_import_job", "7") is None
        raw = sdk.raw(client, "get_record", *RECORD)
        assert (raw.data, raw.status) == (None, 404)


def test_another_404_raises_and_so_does_an_unread_answer(sdk: Flavour) -> None:
    answers = [
        problem(404, "route_not_found"),
        answer({"message": "a proxy"}, 404),
        problem(404, "not_found"),
    ]
    with Stage(*answers) as stage:
        client = sdk.client(stage)
        for call in (sdk.call, sdk.call, sdk.stream):
            with pytest.raises(NotFoundError):
                call(client, "get_record", *RECORD)


def test_other_operations_raise_for_it(sdk: Flavour) -> None:
    with Stage(problem(404, "collection_not_found")) as stage, pytest.raises(NotFoundError) as absent:
        sdk.call(sdk.client(stage), "inspect_collection", "articles")
    assert absent.value.code == "collection_not_found"


def test_a_document_is_found_or_none(sdk: Flavour) -> None:
    with Stage(answer({**DOCUMENT, "revision": 3}), problem(404, "not_found")) as stage:
        client = sdk.client(stage)
        assert sdk.call(client, "find_canonical_document", "acme", DOCUMENT)["revision"] == 3
        assert sdk.call(client, "find_canonical_document", "acme", DOCUMENT) is None
        targets = [seen.target for seen in stage.seen]
    assert targets == ["/canonical/tenants/acme/documents/read"] * 2


@pytest.mark.parametrize(
    ("reply", "refusal"),
    [
        (problem(403, "permission_denied"), PermissionDeniedError),
        (problem(404, "collection_not_found"), NotFoundError),
        (problem(404, "route_not_found"), NotFoundError),
        (answer({"message": "not_found"}, 404), NotFoundError),
    ],
    ids=["no right", "no collection", "no operation", "a proxy"],
)
def test_another_refusal_of_a_document_raises(
    sdk: Flavour, reply: Any, refusal: type[APIStatusError]
) -> None:
    with Stage(reply) as stage, pytest.raises(refusal):
        sdk.call(sdk.client(stage), "find_canonical_document", "acme", DOCUMENT)


def test_the_read_that_existed_before_raises_for_a_missing_document(sdk: Flavour) -> None:
    with Stage(problem(404, "not_found")) as stage, pytest.raises(NotFoundError):
        sdk.call(sdk.client(stage), "get_canonical_document", "acme", DOCUMENT)


@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled", "rejected"])
def test_a_wait_ends_however_the_job_ended(sdk: Flavour, status: str) -> None:
    clock = Clock()
    with Stage(at(status)) as stage:
        assert waited(sdk, stage, clock)["status"] == status
    assert (len(stage.seen), clock.slept) == (1, [])


def test_a_wait_reads_an_embedding_job_until_it_has_its_vectors(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(at("running"), at("succeeded"), at("running")) as stage:
        client = sdk.client(stage, clock)
        assert sdk.call(client, "wait_for_embedding_job", "a/b")["status"] == "succeeded"
        with pytest.raises(APITimeoutError) as over:
            sdk.call(client, "wait_for_embedding_job", "7", wait_timeout=0)
        targets = [seen.target for seen in stage.seen]
    assert targets[:2] == ["/embeddings/jobs/a%2Fb"] * 2
    assert over.value.operation == "getEmbeddingJob"
    assert clock.slept == [0.25]


def test_a_wait_reads_a_provider_job_until_it_has_a_result(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(at("Queued"), at("Running"), at("NotConfigured"), at("Running")) as stage:
        client = sdk.client(stage, clock)
        assert sdk.call(client, "wait_for_provider_job", "a/b")["status"] == "NotConfigured"
        with pytest.raises(APITimeoutError) as over:
            sdk.call(client, "wait_for_provider_job", "7", wait_timeout=0)
        targets = [seen.target for seen in stage.seen]
    assert targets[:3] == ["/provider-jobs/a%2Fb"] * 3
    assert over.value.operation == "getProviderRunJob"
    assert clock.slept == [0.25, 0.5]


def test_a_wait_reads_an_evaluation_job_until_it_has_its_result(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(at("running"), at("succeeded"), at("running")) as stage:
        client = sdk.client(stage, clock)
        assert sdk.call(client, "wait_for_retrieval_evaluation_job", "a/b")["status"] == "succeeded"
        with pytest.raises(APITimeoutError) as over:
            sdk.call(client, "wait_for_retrieval_evaluation_job", "7", wait_timeout=0)
        targets = [seen.target for seen in stage.seen]
    assert targets[:2] == ["/retrieval/evaluate/jobs/a%2Fb"] * 2
    assert over.value.operation == "getRetrievalEvaluationJob"
    assert clock.slept == [0.25]


def test_a_wait_reads_a_graph_job_until_it_has_its_result(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(at("queued"), at("succeeded"), at("running")) as stage:
        client = sdk.client(stage, clock)
        assert sdk.call(client, "wait_for_graph_job", "a/b")["status"] == "succeeded"
        with pytest.raises(APITimeoutError) as over:
            sdk.call(client, "wait_for_graph_job", "7", wait_timeout=0)
        targets = [seen.target for seen in stage.seen]
    assert targets[:2] == ["/graph/jobs/a%2Fb"] * 2
    assert over.value.operation == "getGraphJob"
    assert clock.slept == [0.25]


def test_a_wait_reads_an_ingestion_until_it_has_ended(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(at("queued"), at("succeeded")) as stage:
        client = sdk.client(stage, clock)
        assert sdk.call(client, "wait_for_rag_ingestion_job", "a/b")["status"] == "succeeded"
        targets = [seen.target for seen in stage.seen]
    assert targets == ["/rag/ingestion/jobs/a%2Fb"] * 2
    assert clock.slept == [0.25]


def test_a_wait_ends_with_none_where_there_is_no_job(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(at("queued"), problem(404, "not_found")) as stage:
        assert waited(sdk, stage, clock) is None
    assert clock.slept == [0.25]


def test_a_wait_pauses_longer_each_time_and_not_for_ever(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(at("queued"), *[at("running")] * 6, at("succeeded")) as stage:
        assert waited(sdk, stage, clock)["status"] == "succeeded"
    assert clock.slept == [0.25, 0.5, 1, 2, 4, 4, 4]


def test_a_wait_ends_with_its_time_while_the_job_goes_on(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(at("running")) as stage:
        with pytest.raises(APITimeoutError, match="it goes on") as over:
            waited(sdk, stage, clock, wait_timeout=0.3125)
        with pytest.raises(SvcError, match="wait_timeout must be a number of seconds from 0"):
            waited(sdk, stage, clock, wait_timeout=-1)
    assert over.value.operation == "getRecordImportJob"
    assert clock.slept == [0.25, 0.0625]


def test_a_wait_is_cancelled_in_a_pause() -> None:
    cancellation = Cancellation()

    def sleep(seconds: float, until: threading.Event) -> None:
        cancellation.cancel()

    clock = Clock()
    world = World(now=clock.now, random=clock.random, sleep=sleep)
    with Stage(at("running")) as stage, Client(stage.address, world=world) as client:
        wait = partial(client.wait_for_record_import_job, "7", options={"cancellation": cancellation})
        with pytest.raises(APIAbortError):
            wait()
    assert len(stage.seen) == 1
