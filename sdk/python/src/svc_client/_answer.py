"""Classifies an answer by its status, headers and body."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ._errors import (
    APIAbortError,
    APIConnectionError,
    APIResponseError,
    APIStatusError,
    APITimeoutError,
    SvcError,
    status_error,
)
from ._headers import Headers
from ._operation import AnswerForm, OperationSpec
from ._problem import PROBLEM, json_of, problem_of
from ._request import WireRequest
from ._retry import Failure, RetryQuestion, retry_after
from ._world import AsyncWorld, World

_JSON = re.compile(r"application/([\w.-]+\+)?json")


def form_of(operation: OperationSpec, status: int, headers: Headers) -> AnswerForm | None:
    """How to read the body of an answer; None for a refusal."""
    media_type = media_type_of(headers)
    if media_type == PROBLEM:
        return None
    described = operation.answers.get(status)
    if described is not None or not 200 <= status < 300:
        return described
    # A later release may answer with another success.
    return "json" if _JSON.fullmatch(media_type) else "none"


def media_type_of(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def is_readable(operation: OperationSpec, form: AnswerForm | None, headers: Headers) -> bool:
    """Whether the body can be read. The client asks for no content encoding. It does not read an encoded refusal:
    the status is enough."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return True
    if form is None or form == "none":
        return False
    message = f"{operation.name}: the answer comes in an encoding that was not asked for."
    raise APIResponseError(message, operation=operation.id)


def is_said_by_status(form: AnswerForm | None, error: SvcError) -> bool:
    """Whether an incomplete or too long body still makes an answer. A refusal does, without a problem document."""
    return form is None and not isinstance(error, APITimeoutError)


def refusal(operation: str, status: int, headers: Headers, content: bytes, now: float) -> APIStatusError:
    problem = problem_of(media_type_of(headers), content)
    said = None if problem is None else problem.get("retryAfterSeconds")
    asked = retry_after(headers.get("retry-after"), said, now)
    return status_error(operation, status, headers, problem, asked)


def refused(operation: OperationSpec, error: APIStatusError, *, unread: bool) -> None:
    """Raises the refusal, unless it says that something does not exist and the method returns None for that. A 404
    of a proxy or of another route does not say so. An answer that the caller reads itself has no such result."""
    if unread or not (operation.absent and error.code in ("not_found", "collection_not_found")):
        raise error


def parsed(operation: OperationSpec, form: AnswerForm, content: bytes) -> object:
    """The content of a body."""
    if form == "bytes":
        return content
    if form == "none":
        return None
    try:
        return json_of(content)
    except (ValueError, RecursionError) as error:
        message = f"{operation.name}: the answer is no JSON."
        raise APIResponseError(message, operation=operation.id) from error


@dataclass(frozen=True)
class Plan:
    """A call: its request, its deadline and its number of attempts."""

    operation: OperationSpec
    request: WireRequest
    until: float
    max_retries: int
    bytes_max: int
    """The longest body to hold in memory."""
    base_url: str

    def question(self, error: SvcError, failures: int, world: World | AsyncWorld) -> RetryQuestion:
        """Asks whether there is a next attempt."""
        return RetryQuestion(
            retry=self.operation.retry,
            key_given=self.request.key_given,
            replayable=self.request.replayable,
            failure=_failure_of(error),
            failures=failures,
            max_retries=self.max_retries,
            remaining=self.until - world.now(),
            random=world.random(),
        )

    def timeout(self) -> APITimeoutError:
        message = f"{self.operation.name} did not succeed in time."
        return APITimeoutError(message, operation=self.operation.id)

    def broken(self) -> APIConnectionError:
        target = f"{self.request.method} {self.base_url}{self.request.target.partition('?')[0]}"
        message = f"{self.operation.name}: the connection failed, and no whole answer came: {target}"
        return APIConnectionError(message, operation=self.operation.id)

    def aborted(self) -> APIAbortError:
        return APIAbortError(f"{self.operation.name} was aborted.", operation=self.operation.id)


def _failure_of(error: SvcError) -> Failure:
    if isinstance(error, APIStatusError):
        return Failure("status", error.status, error.retryable, error.retry_after)
    if isinstance(error, APITimeoutError):
        return Failure("timeout")
    if isinstance(error, APIAbortError):
        return Failure("abort")
    return Failure("connection" if isinstance(error, APIConnectionError) else "response")
