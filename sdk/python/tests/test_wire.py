from __future__ import annotations

import json
import math
import re
from typing import Any
from urllib.parse import unquote

import pytest
from flavours import Flavour
from hypothesis import given, strategies
from stage import Stage, problem
from stage import json as answer
from wire import ROOT, call, cases, name_of, observed

from svc_client import Client, SvcError
from svc_client._multipart import multipart
from svc_client._operation import Given, OperationSpec, PartSpec
from svc_client._request import wire_request
from svc_client._settings import settle

CASES = cases()
CATALOG = json.loads((ROOT / "contracts/public-sdk-surface.json").read_bytes())
PUBLISHED = [each for each in CATALOG["operations"] if each["stability"] != "internal"]


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_the_request_of_every_operation(sdk: Flavour, case: dict[str, Any]) -> None:
    with Stage(answer({"items": [], "continuationToken": None})) as stage:
        call(sdk, sdk.client(stage), case)
    assert [observed(seen) for seen in stage.seen] == [case["expect"]]


def test_there_is_a_case_and_a_method_for_every_operation_of_the_catalog(sdk: Flavour) -> None:
    assert {case["operation"] for case in CASES} == {each["id"] for each in PUBLISHED}
    client = sdk.client("http://127.0.0.1:1")
    generated = next(base for base in type(client).__mro__ if "._generated." in base.__module__)
    own = {name for name in vars(generated) if not name.startswith("_")}
    assert own == {each["sdk"]["python"] for each in PUBLISHED}


@pytest.mark.parametrize("segment", ["", ".", "..", None])
def test_a_path_cannot_hold_what_would_lead_elsewhere(sdk: Flavour, segment: Any) -> None:
    with Stage(answer({})) as stage:
        client = sdk.client(stage)
        with pytest.raises(SvcError, match="empty or a dot segment"):
            sdk.call(client, "export_canonical_tenant", segment)
        with pytest.raises(SvcError, match="eventId"):
            sdk.call(client, "renew_canonical_outbox_lease", "t", segment, {"leaseToken": "l"})
    assert stage.seen == []


def test_a_path_holds_what_a_caller_meant_as_one_segment(sdk: Flavour) -> None:
    with Stage(problem(400, "invalid_path_segment")) as stage, pytest.raises(SvcError):
        sdk.call(sdk.client(stage), "export_canonical_tenant", "../a?b#c%2F\\")
    assert stage.seen[0].target == "/canonical/tenants/..%2Fa%3Fb%23c%252F%5C/export"


@given(strategies.text(strategies.characters(exclude_categories=["Cs"]), min_size=1))
def test_each_text_of_a_segment_stays_one_segment(text: str) -> None:
    spec = OperationSpec("x", "x", "GET", "/a/{b}/c", retry="safe", answers={})
    if text in (".", ".."):
        return
    target = wire_request(spec, Given(path=(text,)), settle("https://x.example", {}), {}, lambda: 0.0).target
    before, segment, after = target.removeprefix("/").split("/")
    assert (before, after, unquote(segment)) == ("a", "c", text)
    assert re.fullmatch(r"(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})+", segment)


def test_a_path_comes_behind_that_of_a_gateway(sdk: Flavour) -> None:
    with Stage(answer({})) as stage:
        sdk.call(sdk.client(f"{stage.address}/svc/v1/"), "health")
    assert stage.seen[0].target == "/svc/v1/health"


def test_headers_of_the_client_of_the_call_and_taken_away(sdk: Flavour) -> None:
    with Stage(answer({})) as stage:
        client = sdk.client(stage, headers={"X-A": "client", "X-B": "client", "X-C": "client"})
        options = {"headers": {"x-b": "call", "X-C": None}, "correlation_id": "c-1"}
        sdk.call(client, "health", options=options)
    headers = stage.seen[0].headers
    assert {name: value for name, value in headers.items() if name.startswith("x-")} == {
        "x-a": "client",
        "x-b": "call",
        "x-correlation-id": "c-1",
    }
    assert headers["user-agent"].startswith("svc-client-python/")
    assert headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A": "a\r\nX-B: canary"},
        {"X-A\r\nX-B": "canary"},
        {"X-A": "canary\u20ac"},
        {"X-A": 5},
        {"Content-Length": "3"},
        {"transfer-encoding": "chunked"},
        {"Host": "canary.example"},
        {"": "canary"},
    ],
)
def test_a_header_cannot_become_two_or_end_the_message_elsewhere(sdk: Flavour, headers: Any) -> None:
    with Stage(answer({})) as stage:
        client = sdk.client(stage)
        with pytest.raises(SvcError) as refused:
            sdk.call(client, "health", options={"headers": headers})
        assert "canary" not in repr(refused.value)
    assert stage.seen == []


def test_options_that_do_not_exist_are_refused(sdk: Flavour) -> None:
    with Stage(answer({})) as stage:
        client = sdk.client(stage)
        with pytest.raises(TypeError, match="tiemout"):
            sdk.call(client, "health", options={"tiemout": 5})
        with pytest.raises(TypeError, match="tiemout"):
            client.with_options(tiemout=5)
        with pytest.raises(TypeError, match="idempotency_key"):
            sdk.call(client, "lease_canonical_outbox", "t", {"consumerId": "c"}, idempotency_key="k")
    assert stage.seen == []


@pytest.mark.parametrize("request_", [None, {"a": float("nan")}, {"a": {1, 2}}, {"a": b"x"}, {("a",): 1}])
def test_what_is_no_request_is_not_sent(sdk: Flavour, request_: Any) -> None:
    with Stage(answer({})) as stage:
        client = sdk.client(stage)
        with pytest.raises(SvcError):
            sdk.call(client, "commit_canonical_transaction", "t", request_)
    assert stage.seen == []


def test_what_may_be_left_out_is_an_empty_object(sdk: Flavour) -> None:
    with Stage(answer({"items": []})) as stage:
        assert sdk.run(sdk.call(sdk.client(stage), "query_canonical_outbox", "t").first) == {"items": []}
    assert stage.seen[0].body == b"{}"


def test_text_goes_as_it_is_and_half_a_character_as_json_writes_it(sdk: Flavour) -> None:
    with Stage(answer({})) as stage:
        client = sdk.client(stage)
        for text in ("\u00e4\U0001f600", "\ud800", "\u2028"):
            sdk.call(client, "commit_canonical_transaction", "t", {"idempotencyKey": text})
    assert [seen.body for seen in stage.seen] == [
        '{"idempotencyKey":"\u00e4\U0001f600"}'.encode(),
        b'{"idempotencyKey":"\\ud800"}',
        '{"idempotencyKey":"\u2028"}'.encode(),
    ]


def test_a_client_can_be_used_after_it_was_closed() -> None:
    with Stage(answer({})) as stage:
        client = Client(stage.address, api_key=None, token=None)
        client.health()
        client.close()
        client.health()
        client.close()
    assert len({seen.connection for seen in stage.seen}) == 2


CIRCLE: dict[str, Any] = {}
CIRCLE["inner"] = [CIRCLE]


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"a/b": [1, math.nan]}, "/outbox/0/payload/a~1b/1: must be a finite number"),
        (-math.inf, "/outbox/0/payload: must be a finite number"),
        ({"~": {1, 2}}, "/outbox/0/payload/~0: is of the type set, which JSON does not have"),
        ({(1, 2): 1}, "/outbox/0/payload: has a name of the type tuple, which JSON does not have"),
        (b"S3CRET", "/outbox/0/payload: is of the type bytes, which JSON does not have"),
        (CIRCLE, "/outbox/0/payload/inner/0: cannot be written as JSON"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_place(sdk: Flavour, payload: Any, words: str) -> None:
    request = {"idempotencyKey": "k", "outbox": [{"topic": "t", "key": "k", "payload": payload}]}
    with Stage(answer({})) as stage:
        with pytest.raises(SvcError) as refused:
            sdk.call(sdk.client(stage), "commit_canonical_transaction", "t", request)
    assert str(refused.value) == f"The request of commit_canonical_transaction is not valid: {words}"
    assert refused.value.operation == "commitCanonicalTransaction"
    assert stage.seen == []


def test_a_value_deeper_than_json_is_written_is_refused(sdk: Flavour) -> None:
    payload: Any = 1
    for _ in range(100_000):
        payload = [payload]
    request = {"idempotencyKey": "k", "outbox": [{"topic": "t", "key": "k", "payload": payload}]}
    with Stage(answer({})) as stage:
        with pytest.raises(SvcError, match="cannot be written as JSON"):
            sdk.call(sdk.client(stage), "commit_canonical_transaction", "t", request)
    assert stage.seen == []


def test_half_a_character_in_the_address_is_refused_with_its_place(sdk: Flavour) -> None:
    with Stage(answer({})) as stage:
        client = sdk.client(stage)
        with pytest.raises(SvcError, match="not valid: tenantId: is no Unicode text"):
            sdk.call(client, "export_canonical_tenant", "a\ud800")
        with pytest.raises(SvcError, match="not valid: handlerId: is no Unicode text"):
            sdk.call(client, "list_execution_runs", handler_id="\udc00")
    assert stage.seen == []


def test_a_misspelt_part_of_a_form_is_refused() -> None:
    parts = (PartSpec("metadata", False), PartSpec("file", True))
    with pytest.raises(SvcError, match="not valid: /metdata: is not known here: did you mean metadata\\?"):
        multipart(parts, {"metdata": {}}, "b")
    with pytest.raises(SvcError, match="not valid: /metadata/a: must be a finite number"):
        multipart(parts, {"metadata": {"a": math.nan}}, "b")
    assert multipart(parts, {"metdata": None, "metadata": {}}, "b").length is not None
