from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from flavours import Flavour
from stage import Clock, Stage, foreign, hang_up, problem
from stage import json as answer

from svc_client import AsyncClient, Client, SvcError

KEY = "sk-canary-4711"
TOKEN = "eyJ.canary.0815"
NAMES = ["x-svc-api-key", "x-serverless-authorization", "authorization", "x-own-key"]


def test_a_key_goes_in_its_header_a_token_always_where_the_service_reads_it(sdk: Flavour) -> None:
    with Stage(answer({})) as stage:
        sdk.call(sdk.client(stage, api_key=KEY), "health")
        sdk.call(sdk.client(stage, token=TOKEN), "health")
        sdk.call(sdk.client(stage, api_key=KEY, token=TOKEN), "health")
        sdk.call(sdk.client(stage, api_key=KEY, api_key_header="X-Own-Key"), "health")
    assert [[seen.headers.get(name) for name in NAMES] for seen in stage.seen] == [
        [KEY, None, None, None],
        [None, f"Bearer {TOKEN}", None, None],
        [KEY, f"Bearer {TOKEN}", None, None],
        [None, None, None, KEY],
    ]


def test_is_asked_for_before_each_request_a_repeated_one_too(sdk: Flavour) -> None:
    given = iter(["t1", "t2", "t3"])
    with Stage(foreign(503, {"retry-after": "0.01"}), answer({})) as stage:
        client = sdk.client(stage, Clock(), token=lambda: next(given))
        sdk.call(client, "health")
        sdk.call(client, "health")
    tokens = [seen.headers["x-serverless-authorization"] for seen in stage.seen]
    assert tokens == ["Bearer t1", "Bearer t2", "Bearer t3"]


def test_a_coroutine_may_give_it_where_somebody_awaits_it(sdk: Flavour) -> None:
    async def token() -> str:
        return TOKEN

    with Stage(answer({})) as stage:
        client = sdk.client(stage, token=token)
        if sdk.name == "sync":
            with pytest.raises(SvcError, match="AsyncClient"):
                sdk.call(client, "health")
        else:
            sdk.call(client, "health")
            assert stage.seen[0].headers["x-serverless-authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("name", ["X-Svc-Api-Key", "x-svc-api-key"])
def test_headers_take_it_away(sdk: Flavour, name: str) -> None:
    with Stage(answer({})) as stage:
        client = sdk.client(stage, api_key=KEY, token=TOKEN)
        sdk.call(client.with_options(headers={name: None}), "health")
        sdk.call(client, "health", options={"headers": {name: None}})
        without = sdk.client(stage, api_key=KEY, headers={name: None})
        sdk.call(without, "health", options={"headers": {"X-Svc-Api-Key": "of the call"}})
        sdk.call(sdk.client(stage, token=TOKEN, headers={"x-serverless-authorization": None}), "health")
    assert [[seen.headers.get(each) for each in NAMES[:2]] for seen in stage.seen] == [
        *([[None, f"Bearer {TOKEN}"]] * 2),
        ["of the call", None],
        [None, None],
    ]


def test_what_a_caller_puts_into_the_headers_goes_before(sdk: Flavour) -> None:
    with Stage(answer({})) as stage:
        sdk.call(sdk.client(stage, api_key=KEY, headers={"x-svc-api-key": "other"}), "health")
    assert stage.seen[0].headers["x-svc-api-key"] == "other"


@pytest.mark.parametrize("name", ["X-A\r\nX-B: c", "X A", "\u00e4"])
def test_a_header_of_a_key_has_a_name(sdk: Flavour, name: str) -> None:
    with pytest.raises(SvcError, match="api_key_header"):
        sdk.make("https://x.example", api_key="k", api_key_header=name)


def test_an_error_of_who_gives_it_is_the_callers(sdk: Flavour) -> None:
    reason = LookupError("no token today")

    def token() -> str:
        raise reason

    with Stage(answer({})) as stage:
        client = sdk.client(stage, token=token)
        with pytest.raises(LookupError) as failed:
            sdk.call(client, "health")
    assert failed.value is reason
    assert stage.seen == []


class TestTheVariablesOfTheProcess:
    def test_are_read_where_nothing_else_is_said(self, sdk: Flavour, monkeypatch: pytest.MonkeyPatch) -> None:
        with Stage(answer({})) as stage:
            monkeypatch.setenv("SVC_BASE_URL", stage.address)
            monkeypatch.setenv("SVC_API_KEY", KEY)
            monkeypatch.setenv("SVC_API_KEY_HEADER", "X-Own-Key")
            monkeypatch.setenv("SVC_IDENTITY_TOKEN", TOKEN)
            client = sdk.make(None)
            sdk.call(client, "health")
            sdk.shut(client)
            mine = sdk.make(None, api_key="mine", api_key_header="X-Svc-Api-Key", token=None)
            sdk.call(mine, "health")
            sdk.shut(mine)
        values = [[seen.headers.get(name) for name in NAMES] for seen in stage.seen]
        assert values == [[None, f"Bearer {TOKEN}", None, KEY], ["mine", None, None, None]]

    def test_are_read_once_for_a_client_and_those_made_of_it(
        self, sdk: Flavour, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SVC_API_KEY", KEY)
        monkeypatch.setenv("SVC_API_KEY_HEADER", "X-Own-Key")
        with Stage(answer({})) as stage, Stage(answer({})) as elsewhere:
            monkeypatch.setenv("SVC_BASE_URL", stage.address)
            client = sdk.make(None)
            monkeypatch.setenv("SVC_BASE_URL", elsewhere.address)
            monkeypatch.setenv("SVC_API_KEY", "that of the other")
            monkeypatch.setenv("SVC_IDENTITY_TOKEN", "that.of.the.other")
            monkeypatch.delenv("SVC_API_KEY_HEADER")
            other = client.with_options(timeout=5)
            sdk.call(other, "health")
            sdk.call(other.with_options(api_key=None), "health")
            sdk.shut(client)
        assert elsewhere.seen == []
        assert [[seen.headers.get(name) for name in NAMES] for seen in stage.seen] == [
            [None, None, None, KEY],
            [None] * 4,
        ]

    def test_the_address_of_the_tool_does_as_well(
        self, sdk: Flavour, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SVC_SERVER", "https://tool.example/")
        assert sdk.make(None).base_url == "https://tool.example"
        monkeypatch.setenv("SVC_BASE_URL", "https://sdk.example/svc/")
        assert sdk.make(None).base_url == "https://sdk.example/svc"
        assert sdk.make("http://[::1]:1").base_url == "http://[::1]:1"

    def test_empty_ones_are_none_and_none_is_needed(
        self, sdk: Flavour, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SVC_API_KEY", "")
        monkeypatch.setenv("SVC_BASE_URL", "")
        with pytest.raises(SvcError, match="address"):
            sdk.make(None)
        assert "api_key=None" in repr(sdk.make("https://x.example"))


def shown(value: object, depth: int = 0) -> str:
    """Everything that a log, a debugger or a report of a failure might print of something."""
    text = f"{value} {value!r}"
    if isinstance(value, BaseException):
        text += "".join(traceback.format_exception(value))
        text += "".join(traceback.TracebackException.from_exception(value, capture_locals=True).format())
    if depth < 5 and hasattr(value, "__dict__"):
        text += " ".join(shown(each, depth + 1) for each in vars(value).values())
    return text


class TestACredentialIsNeverShown:
    def test_by_the_client(self, sdk: Flavour) -> None:
        client = sdk.client("https://x.example", api_key=KEY, token=TOKEN)
        for each in (
            client,
            client.with_options(timeout=5),
            {"deep": [client]},
            sdk.client("https://x.example"),
        ):
            assert "canary" not in repr(each)
        assert "api_key=[redacted], token=[redacted]" in repr(client)
        for each in (client, client.with_options(timeout=5)):
            text = " ".join(repr(value) for held in _everything(each) for value in held.values())
            assert "timeout" in text
            assert "canary" not in text

    @pytest.mark.parametrize(
        "said",
        [
            problem(401, "unauthenticated"),
            foreign(302, {"location": "/elsewhere"}),
            hang_up,
            foreign(200),
            foreign(502),
        ],
        ids=["refused", "redirected", "left alone", "nonsense", "turned away"],
    )
    def test_by_the_error_of_a_call(self, sdk: Flavour, said: Any, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        with Stage(said) as stage:
            client = sdk.client(stage, api_key=lambda: KEY, token=TOKEN, max_retries=0)
            with pytest.raises(SvcError) as failed:
                sdk.call(client, "commit_canonical_transaction", "t", {"idempotencyKey": "k"})
        # Before anything is compared: what pytest keeps of a comparison is among the variables of this frame.
        text = shown(failed.value)
        assert "canary" not in text
        assert stage.seen[0].headers["x-svc-api-key"] == KEY
        assert "commit_canonical_transaction" in caplog.text
        assert "canary" not in caplog.text

    def test_not_even_if_somebody_prints_what_http_sends(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("http.client.HTTPConnection.debuglevel", 1)
        with Stage(answer({})) as stage, Client(stage.address, api_key=KEY, token=None) as client:
            client.health()
        assert stage.seen[0].headers["x-svc-api-key"] == KEY
        assert "canary" not in capsys.readouterr().out

    @pytest.mark.parametrize(
        "bad",
        [f"{KEY}\r\nx: y", f"{KEY} ", "", f"{KEY}\u00e9", KEY + "x" * 20_000, 5, KEY.encode()],
        ids=range(7),
    )
    def test_by_the_refusal_of_one_that_cannot_be_sent(self, sdk: Flavour, bad: Any) -> None:
        with Stage(answer({})) as stage:
            for options in ({"api_key": bad}, {"token": bad}, {"token": lambda: bad}):
                client = sdk.client(stage, **options)
                with pytest.raises(SvcError) as refused:
                    sdk.call(client, "health")
                assert "canary" not in f"{refused.value!r} {refused.value.__cause__!r}"
        assert stage.seen == []

    @pytest.mark.parametrize(
        "base_url",
        [
            "https://user:canary@svc.example",
            "https://canary@svc.example",
            "https://svc.example/?key=canary",
            "https://svc.example/?",
            "https://svc.example/#canary",
            "ftp://canary.example",
            "canary",
            "//canary.example",
            "https://canary.example:port",
            "https://canary.example:0",
            "https://canary.example:99999",
            "https://canary example",
            "https://svc.example\\@canary",
            "https://svc.example\n/canary",
            "https://[canary",
            "https:///canary",
        ],
    )
    def test_by_the_refusal_of_an_address(self, sdk: Flavour, base_url: str) -> None:
        with pytest.raises(SvcError) as refused:
            sdk.make(base_url)
        assert "canary" not in f"{refused.value!r} {refused.value.__cause__!r}"


def _everything(value: Any) -> Iterator[dict[str, Any]]:
    """The attributes of an object and of everything in it, down to the leaves."""
    held = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    yield held
    for each in held.values():
        if isinstance(each, dict) or type(each).__module__.startswith("svc_client"):
            yield from _everything(each)


@pytest.mark.parametrize(
    "base_url",
    ["http://svc.example", "http://10.0.0.1:5220", "http://127.example", "http://localhost.example"],
)
def test_plain_http_to_another_machine_gets_no_credential(sdk: Flavour, base_url: str) -> None:
    for options in ({"api_key": "k"}, {"token": lambda: "t"}):
        with pytest.raises(SvcError, match="plain HTTP"):
            sdk.make(base_url, **options)
    for name in ("Authorization", "x-svc-api-key", "Cookie", "X-Own-Key"):
        options = {"headers": {name: "Basic a"}, "api_key_header": "X-Own-Key"}
        with pytest.raises(SvcError, match="plain HTTP"):
            sdk.make(base_url, **options)
        with pytest.raises(SvcError, match="plain HTTP"):
            sdk.call(
                sdk.make(base_url, api_key_header="X-Own-Key"),
                "health",
                options={"headers": options["headers"]},
            )
        sdk.make(base_url, **options, insecure=True)
    sdk.make(base_url, headers={"X-Other": "a", "Authorization": None})
    sdk.make(base_url, api_key="k", insecure=True)


def test_nor_does_a_client_of_the_callers_bring_one_there() -> None:
    given = httpx2.AsyncClient(headers={"Authorization": "Basic a"})
    with pytest.raises(SvcError, match="plain HTTP"):
        AsyncClient("http://svc.example", http_client=given)
    AsyncClient("https://svc.example", http_client=given)
    AsyncClient("http://svc.example", http_client=httpx2.AsyncClient())


@pytest.mark.parametrize("headers", [[("X-A", "b")], "X-A: b", {5: "b"}])
def test_headers_are_a_mapping(sdk: Flavour, headers: Any) -> None:
    with pytest.raises(SvcError, match="headers"):
        sdk.make("https://x.example", headers=headers)
    with Stage(answer({})) as stage, pytest.raises(SvcError, match="headers"):
        sdk.call(sdk.client(stage), "health", options={"headers": headers})
    assert stage.seen == []


@pytest.mark.parametrize(
    "base_url",
    [
        *("http://localhost", "http://a.localhost:1", "http://127.0.0.1", "http://127.9.9.9"),
        *("http://[::1]", "https://svc.example", "HTTP://LOCALHOST", "HTTPS://svc.example"),
    ],
)
def test_plain_http_to_this_machine_may_have_one(sdk: Flavour, base_url: str) -> None:
    assert sdk.make(base_url, api_key="k").base_url == base_url.lower()
