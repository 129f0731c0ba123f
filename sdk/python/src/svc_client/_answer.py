"""What an answer is, decided from what came over the wire."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import NoReturn

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
from ._problem import PROBLEM, problem_of
from ._request import WireRequest
from ._retry import Failure, RetryQuestion, parse_retry_after, retry_delay

_JSON = re.compile(r"application/([\w.-]+\+)?json")


def form_of(operation: OperationSpec, status: int, headers: Headers) -> AnswerForm | None:
    """How an answer is read; None where it is a refusal."""
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


def refusal(operation: str, status: int, headers: Headers, content: bytes, now: float) -> APIStatusError:
    problem = problem_of(media_type_of(headers), content)
    retry_after = parse_retry_after(headers.get("retry-after"), now)
    if retry_after is None and problem is not None:
        retry_after = _seconds(problem.get("retryAfterSeconds"))
    return status_error(operation, status, headers, problem, retry_after)


def _seconds(value: object) -> float | None:
    """What a service says of itself is not taken on trust."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < 1e9 else None


def parsed(operation: str, form: AnswerForm, content: bytes) -> object:
    """What a body holds."""
    if form == "bytes":
        return content
    if form == "none":
        return None
    try:
        return json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise APIResponseError(f"{operation}: the answer is no JSON.", operation=operation) from error


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


@dataclass(frozen=True)
class Plan:
    """A call: what is sent, until when, and how often."""

    operation: OperationSpec
    request: WireRequest
    until: float
    max_retries: int

    def pause_after(self, error: SvcError, failures: int, now: float, random: float) -> float | None:
        """How many seconds to wait before the next time; None where there is none."""
        return retry_delay(
            RetryQuestion(
                retry=self.operation.retry,
                key_given=self.request.key_given,
                replayable=self.request.replayable,
                failure=_failure_of(error),
                failures=failures,
                max_retries=self.max_retries,
                remaining=self.until - now,
                random=random,
            )
        )

    def timeout(self) -> APITimeoutError:
        name = self.operation.id
        return APITimeoutError(f"{name} did not succeed in time.", operation=name)

    def broken(self) -> APIConnectionError:
        name = self.operation.id
        message = f"{name}: the connection failed, and no whole answer came."
        return APIConnectionError(message, operation=name)

    def aborted(self) -> APIAbortError:
        name = self.operation.id
        return APIAbortError(f"{name} was aborted.", operation=name)


def _failure_of(error: SvcError) -> Failure:
    if isinstance(error, APIStatusError):
        return Failure("status", error.status, error.retryable, error.retry_after)
    if isinstance(error, APITimeoutError):
        return Failure("timeout")
    if isinstance(error, APIAbortError):
        return Failure("abort")
    return Failure("connection" if isinstance(error, APIConnectionError) else "response")
