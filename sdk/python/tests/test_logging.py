from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from svc_client import CredentialFilter
from svc_client._credentials import CREDENTIAL_HEADERS


@pytest.mark.parametrize(
    "text",
    [
        "X-Svc-Api-Key: canary",
        "X-Svc-Api-Key: two words and a canary",
        "x-svc-api-key: a;b,c)canary",
        "{'x-svc-api-key': 'canary', 'a': 'b'}",
        "{'x-svc-api-key': 'a \\'canary', 'a': 'b'}",
        '{"x-svc-api-key": "it\'s a canary", "a": "b"}',
        '{"leaseToken":"canary"}',
        '"{\\"leaseToken\\": \\"a canary\\"}"',
        "(b'X-Serverless-Authorization', b'Bearer canary')",
        "('Authorization', 'Basic a canary')",
        "authorization=canary",
        "authorization=Basic canary",
        "Authorization: Basic-canary",
        "Authorization: Basic dXNlcjo= canary",
        'Authorization: Digest username="me", response="canary"',
        "authorization: 'Basic canary",
        "sent bearer canary to it",
        "lease_token=canary",
        "lease_token='a canary'",
        "POST /ack?lease_token=a&canary",
        "SVC_API_KEY=canary",
        "export SVC_IDENTITY_TOKEN='a canary'",
        "environ({'SVC_API_KEY': 'a canary'})",
        "Client('https://x.example', api_key='a canary')",
        "Cookie: session=canary",
        "Cookie: a=b; session=canary",
        "{'Cookie': 'a=b; session=canary', 'a': 'b'}",
        "Set-Cookie: session=canary; HttpOnly",
        "('set-cookie', 'session=canary; Secure')",
        "X-Api-Key: canary",
        "proxy-authorization: canary",
        "X-Own-Key: canary",
        "X-Own-Key = a,canary",
    ],
)
def test_takes_out_what_stands_behind_the_names(text: str) -> None:
    found = CredentialFilter(["X-Own-Key"]).redact(text)
    assert "canary" not in found
    assert "[redacted]" in found


@pytest.mark.parametrize("name", CREDENTIAL_HEADERS)
def test_knows_every_header_that_a_client_takes_for_a_credential(name: str) -> None:
    assert CredentialFilter().redact(f"{name.title()}: canary") == f"{name.title()}: [redacted]"


def test_a_basic_credential_needs_no_name() -> None:
    assert CredentialFilter().redact("got Basic dXNlcjpwYXNz here") == "got Basic [redacted] here"


@pytest.mark.parametrize(
    "text",
    [
        "health: 200; the author was authorized, x: y; basic information, Basic training",
        "health: 200; x: y",
        '{"leaseToken": null, "a": 1}',
        "{'Accept': 'application/json', 'X-Correlation-ID': 'c-1'}",
    ],
)
def test_leaves_the_rest_alone(text: str) -> None:
    assert CredentialFilter().redact(text) == text


def test_what_follows_a_value_in_quotes_stays() -> None:
    text = "{'authorization': 'Basic canary', 'x': 'y'}\nAuthorization: canary\nnext"
    clean = "{'authorization': '[redacted]', 'x': 'y'}\nAuthorization: [redacted]\nnext"
    assert CredentialFilter().redact(text) == clean


@pytest.fixture
def log() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A log of somebody else, written through the filter."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.addFilter(CredentialFilter())
    logger = logging.getLogger("somebody.else")
    logger.addHandler(handler)
    logger.propagate = False
    yield logger, text
    logger.removeHandler(handler)


def test_of_records_with_arguments(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, text = log
    logger.warning("sent %s", {"Authorization": "Basic canary 100%"})
    logger.warning("sent %s of %d", "fifty", 50)
    assert text.getvalue() == "sent {'Authorization': '[redacted]'}\nsent fifty of 50\n"


def test_of_records_whose_arguments_do_not_fit(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, text = log
    logger.warning("sent %s and %s", {"Authorization": "Bearer canary"}, 1, 2)
    assert "canary" not in text.getvalue()
    assert text.getvalue().startswith("sent %s")


def test_of_the_text_of_an_exception(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, text = log

    def failing(message: str) -> None:
        try:
            raise ValueError(message)
        except ValueError:
            logger.exception("failed")

    failing("Authorization: Basic canary")
    failing("an ordinary one")
    assert "canary" not in text.getvalue()
    assert "ValueError: Authorization: [redacted]" in text.getvalue()
    assert text.getvalue().endswith("ValueError: an ordinary one\n")


def test_the_logger_of_the_client_has_one(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("svc_client").debug("sent %s", {"Authorization": "Bearer canary"})
    assert "canary" not in caplog.text
    assert "[redacted]" in caplog.text
