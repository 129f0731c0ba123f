"""Lists that name their next page in the header `Link`."""

from __future__ import annotations

from typing import Any

import pytest
from flavours import Flavour
from service import running
from stage import Answer, Clock, Stage, hang_up, problem
from stage import json as answer

from svc_client import APIResponseError, APIStatusError, Headers, SvcError
from svc_client._linked import next_query


def page(*ids: str, following: str | None = None) -> Answer:
    headers = {} if following is None else {"Link": f'</execution/runs?{following}>; rel="next"'}
    return answer([{"id": each} for each in ids], 200, headers)


def ids(sdk: Flavour, items: Any) -> list[str]:
    return [each["id"] for each in sdk.each(items)]


def runs(client: Any, **named: Any) -> Any:
    return client.pages(client.list_execution_runs, **named)


def test_the_entries_of_all_pages(sdk: Flavour) -> None:
    first = page("1", "2", following="status=failed&continuationToken=a%2Fb")
    with Stage(first, page(following="continuationToken=c"), page("3")) as stage:
        assert ids(sdk, runs(sdk.client(stage), status="failed", limit=2)) == ["1", "2", "3"]
    assert [seen.target for seen in stage.seen] == [
        "/execution/runs?status=failed&limit=2",
        "/execution/runs?status=failed&continuationToken=a%2Fb",
        "/execution/runs?continuationToken=c",
    ]


def test_the_ledger_of_migrations(sdk: Flavour) -> None:
    first = answer([{"id": "1"}], 200, {"Link": '</canonical/migrations?continuationToken=a>; rel="next"'})
    with Stage(first, page("2")) as stage:
        client = sdk.client(stage)
        assert ids(sdk, client.pages(client.list_canonical_migrations)) == ["1", "2"]
    assert [seen.target for seen in stage.seen] == [
        "/canonical/migrations",
        "/canonical/migrations?continuationToken=a",
    ]


def test_the_method_alone_gives_the_first_page(sdk: Flavour) -> None:
    with Stage(page("1", following="continuationToken=a")) as stage:
        client = sdk.client(stage)
        assert sdk.call(client, "list_execution_runs") == [{"id": "1"}]
        assert sdk.run(runs(client).first) == [{"id": "1"}]
    assert len(stage.seen) == 2


def test_page_by_page_with_the_retries_of_a_call(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(page("1", following="continuationToken=a"), hang_up, page("2")) as stage:
        found = runs(sdk.client(stage, clock), options={"headers": {"X-Own": "x"}})
        assert list(sdk.each(found.iter_pages())) == [[{"id": "1"}], [{"id": "2"}]]
    assert clock.slept == [0.5]
    assert [seen.headers["x-own"] for seen in stage.seen] == ["x"] * 3


def test_all_as_one_list(sdk: Flavour) -> None:
    with Stage(page("1", following="continuationToken=a"), page("2")) as stage:
        client = sdk.client(stage)
        found = client.pages(client.get_execution_run_history, "r", limit=1)
        assert sdk.run(found.collect) == [{"id": "1"}, {"id": "2"}]
    assert stage.seen[1].target == "/execution/runs/r/history?continuationToken=a"


def test_a_link_leads_to_no_other_place(sdk: Flavour) -> None:
    away = answer([{"id": "1"}], 200, {"Link": "<https://other.example/x?a=1>; rel=next"})
    with Stage(away, page("2")) as stage:
        assert ids(sdk, runs(sdk.client(stage, api_key="k"))) == ["1", "2"]
    assert stage.seen[1].target == "/execution/runs?a=1"


def test_a_list_that_does_not_end_is_an_error(sdk: Flavour) -> None:
    with Stage(page("1", following="continuationToken=a")) as stage:
        with pytest.raises(APIResponseError):
            ids(sdk, runs(sdk.client(stage)))
    assert len(stage.seen) == 2


def test_a_refusal_of_a_later_page_and_a_page_that_is_no_list(sdk: Flavour) -> None:
    first = page("1", following="continuationToken=a")
    with Stage(first, problem(400, "continuation_token_invalid"), first, answer({})) as stage:
        client = sdk.client(stage)
        with pytest.raises(APIStatusError):
            ids(sdk, runs(client))
        with pytest.raises(APIResponseError):
            ids(sdk, runs(client))


def test_it_takes_methods_of_the_client_alone(sdk: Flavour) -> None:
    with Stage(answer({})) as stage:
        client = sdk.client(stage)
        with pytest.raises(SvcError, match="method of this client"):
            client.pages(len, [])
        with pytest.raises(TypeError):
            runs(client, limits=1)
    assert stage.seen == []


def test_the_runs_of_a_real_service_beyond_one_page(sdk: Flavour) -> None:
    with running({"ExecutionRuntime:ExternalHandlers:0:HandlerId": "h"}) as address:
        client = sdk.client(address)
        started = [
            sdk.call(client, "start_execution_run", {"handlerId": "h"}, idempotency_key=f"k-{each}")["id"]
            for each in range(5)
        ]
        assert ids(sdk, runs(client, limit=2)) == sorted(started, reverse=True)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ('</a?x=1>; rel="next"', "x=1"),
        ("</a?x=1>;rel=next", "x=1"),
        ('</b>; rel="prev", </a?x=1#f>; title="a, b"; rel="last next"', "x=1"),
        ("</a?x=1 y\u00e9>; rel=next", "x=1%20y%C3%A9"),
        ('</a?x=1>; rel="prev"', None),
        ('</a>; rel="next"', None),
        ("?x=1", None),
        ("", None),
    ],
)
def test_what_a_link_names(text: str, query: str | None) -> None:
    assert next_query(Headers([("Link", text)])) == query
