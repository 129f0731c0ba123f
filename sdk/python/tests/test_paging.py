from __future__ import annotations

import json
from typing import Any

import pytest
from flavours import Flavour
from stage import Clock, Stage, hang_up
from stage import json as answer

from svc_client import APIResponseError, SvcError


def page(items: Any, token: Any) -> Any:
    return answer({"items": items, "continuationToken": token})


def tokens(stage: Stage) -> list[Any]:
    return [json.loads(seen.body).get("continuationToken") for seen in stage.seen]


def test_iterated_every_entry_to_the_last_page(sdk: Flavour) -> None:
    # A page may be short or empty and not be the last.
    with Stage(page([1, 2], "a"), page([], "b"), page([3], None)) as stage:
        query = {"documentType": "claim", "limit": 2}
        found = sdk.call(sdk.client(stage), "query_canonical_documents", "t", query)
        assert list(sdk.each(found)) == [1, 2, 3]
        assert query == {"documentType": "claim", "limit": 2}
    assert tokens(stage) == [None, "a", "b"]
    assert [json.loads(seen.body)["limit"] for seen in stage.seen] == [2, 2, 2]


def test_pages_are_asked_for_when_they_are_used(sdk: Flavour) -> None:
    with Stage(page([1], "a"), page([2], "b"), page([3], None)) as stage:
        found = sdk.call(sdk.client(stage), "query_canonical_outbox", "t")
        assert stage.seen == []
        pages = sdk.each(found.iter_pages())
        assert next(pages) == {"items": [1], "continuationToken": "a"}
        assert len(stage.seen) == 1
        assert [each["items"] for each in pages] == [[2], [3]]
    assert tokens(stage) == [None, "a", "b"]


def test_the_first_page_alone_and_a_start_of_the_callers(sdk: Flavour) -> None:
    with Stage(page([1], "b")) as stage:
        client = sdk.client(stage)
        found = sdk.call(client, "query_canonical_documents", "t", {"continuationToken": "a"})
        assert sdk.run(found.first) == {"items": [1], "continuationToken": "b"}
    assert tokens(stage) == ["a"]


def test_collected(sdk: Flavour) -> None:
    with Stage(page([1, 2], "a"), page([3], None)) as stage:
        found = sdk.call(sdk.client(stage), "query_canonical_documents", "t")
        assert sdk.run(found.collect) == [1, 2, 3]


def test_collected_no_further_than_asked_for(sdk: Flavour) -> None:
    with Stage(page([1, 2], "a"), page([3], "b")) as stage:
        found = sdk.call(sdk.client(stage), "query_canonical_documents", "t")
        assert sdk.run(lambda: found.collect(limit=2)) == [1, 2]
        assert len(stage.seen) == 1


def test_collected_without_a_limit_there_is_one(sdk: Flavour) -> None:
    def endless(reply: Any, _: Any) -> None:
        body = {"items": list(range(4_000)), "continuationToken": str(len(stage.seen))}
        reply.send(200, {"content-type": "application/json"}, json.dumps(body).encode())

    with Stage(endless) as stage:
        found = sdk.call(sdk.client(stage), "query_canonical_documents", "t")
        with pytest.raises(SvcError, match="10000"):
            sdk.run(found.collect)
        assert len(stage.seen) == 3
        assert len(sdk.run(lambda: found.collect(limit=20_000))) == 20_000


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "5"])
def test_a_limit_is_a_whole_number(sdk: Flavour, limit: Any) -> None:
    with Stage(page([], None)) as stage:
        found = sdk.call(sdk.client(stage), "query_canonical_documents", "t")
        with pytest.raises(SvcError, match="limit"):
            sdk.run(lambda: found.collect(limit=limit))
    assert stage.seen == []


def test_the_same_token_twice_is_an_error_and_no_endless_loop(sdk: Flavour) -> None:
    with Stage(page([1], "a")) as stage:
        found = sdk.call(sdk.client(stage), "query_canonical_documents", "t")
        with pytest.raises(APIResponseError, match="continuation token"):
            sdk.run(found.collect)
        assert len(stage.seen) == 2
        pages = sdk.each(found.iter_pages())
        assert [next(pages)["items"], next(pages)["items"]] == [[1], [1]]
        with pytest.raises(APIResponseError, match="continuation token"):
            next(pages)


def test_a_token_of_any_page_before_is_an_error(sdk: Flavour) -> None:
    with Stage(page([1], "a"), page([], "b"), page([], "a")) as stage:
        found = sdk.call(sdk.client(stage), "query_canonical_documents", "t")
        with pytest.raises(APIResponseError, match="continuation token"):
            sdk.run(found.collect)
        assert len(stage.seen) == 3
        pages = sdk.each(found.iter_pages())
        with pytest.raises(APIResponseError, match="continuation token"):
            list(pages)


def test_also_the_token_that_the_caller_gave(sdk: Flavour) -> None:
    with Stage(page([1], "b"), page([2], "a")) as stage:
        query = {"continuationToken": "a"}
        found = sdk.call(sdk.client(stage), "query_canonical_documents", "t", query)
        with pytest.raises(APIResponseError, match="continuation token"):
            sdk.run(found.collect)
    assert tokens(stage) == ["a", "b"]


def test_a_thousand_empty_pages_in_a_row_are_an_error(sdk: Flavour) -> None:
    def counting(reply: Any, _: Any) -> None:
        at = len(stage.seen)
        page([1] if at == 400 else [], str(at))(reply, _)

    with Stage(counting) as stage:
        found = sdk.call(sdk.client(stage), "query_canonical_documents", "t")
        with pytest.raises(APIResponseError, match="1000 pages"):
            sdk.run(found.collect)
    assert len(stage.seen) == 1_400


@pytest.mark.parametrize("body", [None, 5, [], {"items": 5}, {"items": {"a": 1}}, {"items": "ab"}])
def test_a_page_that_is_none(sdk: Flavour, body: Any) -> None:
    with Stage(answer(body)) as stage:
        found = sdk.call(sdk.client(stage), "query_canonical_documents", "t")
        with pytest.raises(APIResponseError, match="page"):
            sdk.run(found.collect)
        with pytest.raises(APIResponseError, match="page"):
            list(sdk.each(found.iter_pages()))
    assert len(stage.seen) == 2


@pytest.mark.parametrize("token", [None, "", 5, False])
def test_what_is_no_token_ends_the_list(sdk: Flavour, token: Any) -> None:
    with Stage(page([1], token)) as stage:
        found = sdk.call(sdk.client(stage), "query_canonical_documents", "t")
        assert sdk.run(found.collect) == [1]
    assert len(stage.seen) == 1


def test_each_page_goes_again_by_itself_and_has_its_own_time(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(page([1], "a"), hang_up, page([2], "b"), hang_up, page([3], None)) as stage:
        client = sdk.client(stage, clock, timeout=0.9)
        assert sdk.run(sdk.call(client, "query_canonical_documents", "t").collect) == [1, 2, 3]
    assert clock.slept == [0.5, 0.5]


def test_options_are_those_of_every_page(sdk: Flavour) -> None:
    with Stage(page([1], "a"), page([2], None)) as stage:
        options = {"headers": {"X-A": "b"}, "correlation_id": "c"}
        found = sdk.call(sdk.client(stage), "query_canonical_documents", "t", options=options)
        sdk.run(found.collect)
    assert [(seen.headers["x-a"], seen.headers["x-correlation-id"]) for seen in stage.seen] == [
        ("b", "c")
    ] * 2


def test_what_was_asked_for_stays_what_it_was(sdk: Flavour) -> None:
    with Stage(page([1], "a"), page([2], None)) as stage:
        indexes = {"status": "open"}
        query: dict[str, Any] = {"documentType": "claim", "indexes": indexes}
        options: dict[str, Any] = {"correlation_id": "c"}
        found = sdk.call(sdk.client(stage), "query_canonical_documents", "t", query, options=options)
        indexes["status"] = "paid"
        pages = sdk.each(found.iter_pages())
        next(pages)
        query["documentType"] = "order"
        options["correlation_id"] = "d"
        next(pages)
    for seen in stage.seen:
        sent = json.loads(seen.body)
        assert (sent["documentType"], sent["indexes"]) == ("claim", {"status": "open"})
        assert seen.headers["x-correlation-id"] == "c"


def test_a_second_iteration_requests_the_pages_again(sdk: Flavour) -> None:
    with Stage(page([1], None), page([2], None)) as stage:
        found = sdk.call(sdk.client(stage), "query_canonical_documents", "t")
        assert [sdk.run(found.collect), sdk.run(found.collect)] == [[1], [2]]
