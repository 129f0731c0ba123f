"""The errors of the client. Catch the class that you can handle."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ._headers import Headers

if TYPE_CHECKING:
    from ._generated.problems import ProblemCode
    from ._problem import Problem, ProblemPlace


_PLACES_SHOWN = 20
"""So many faulty places are in the text of an error; `errors` has all."""


class SvcError(Exception):
    """The base of all errors of the client. No error holds a credential."""

    operation: str | None
    """The operation that was called; None for an error outside of calls."""

    def __init__(self, message: str, *, operation: str | None = None) -> None:
        super().__init__(message)
        self.operation = operation


class APIConnectionError(SvcError):
    """No complete answer arrived. A write may have taken effect: repeat it with the same key, or read the result."""


class APITimeoutError(APIConnectionError):
    """The timeout passed before the call succeeded."""


class APIAbortError(SvcError):
    """The caller's `Cancellation` ended the call."""


class APIResponseError(SvcError):
    """The status of the answer is a success, but its body cannot be read."""


class APIStatusError(SvcError):
    """The service refused the request, or failed."""

    status: int
    problem: Problem | None
    """The problem document (RFC 9457); None if the answer has none, such as an answer of a proxy."""
    code: ProblemCode | str | None
    """The problem code. Branch on it; later releases only add codes."""
    retryable: bool | None
    """Whether the same request can succeed later; None if the answer does not say."""
    retry_after: float | None
    """How long to wait before the next try, in seconds; None if the answer does not say."""
    correlation_id: str | None
    """The id of the request in the log of the service: give it to the operator."""
    trace_id: str | None
    """The trace of the request, by which tracing tools and the log of the service know it; None without one."""
    errors: list[ProblemPlace]
    """The faulty places of the request."""
    headers: Headers
    """The headers of the answer."""

    def __init__(
        self,
        message: str,
        *,
        operation: str | None = None,
        status: int = 0,
        headers: Headers | None = None,
        problem: Problem | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, operation=operation)
        self.status = status
        self.headers = Headers() if headers is None else headers
        self.problem = problem
        self.code = None if problem is None else problem["code"]
        self.retryable = None if problem is None else problem["retryable"]
        self.retry_after = retry_after
        said = self.headers.get("x-correlation-id")
        self.correlation_id = said if problem is None else problem["correlationId"]
        self.trace_id = None if problem is None else problem.get("traceId")
        self.errors = [] if problem is None else problem.get("errors", [])

    def __str__(self) -> str:
        """The message and the faulty places, which a traceback would otherwise not show."""
        message = super().__str__()
        # Servers since 0.6.0 name the places in the message itself.
        unsaid = [place for place in self.errors if f"{place['pointer']}: {place['detail']}" not in message]
        shown = unsaid[:_PLACES_SHOWN]
        places = [f"  {place['pointer'] or '(the whole body)'}: {place['detail']}" for place in shown]
        more = len(unsaid) - len(shown)
        return "\n".join([message, *places, *([f"  and {more} more"] if more > 0 else [])])


class NotModifiedError(APIStatusError):
    """304: the caller has the current content, as its `if_none_match` says."""


class BadRequestError(APIStatusError):
    """400: the request breaks a rule; `errors` says where."""


class AuthenticationError(APIStatusError):
    """401: a credential is missing or invalid."""


class PermissionDeniedError(APIStatusError):
    """403: the caller has no permission."""


class NotFoundError(APIStatusError):
    """404: the resource does not exist, or the caller may not see it."""


class ConflictError(APIStatusError):
    """409: the request conflicts with stored state; see `code`. The client never retries it."""


class PreconditionFailedError(APIStatusError):
    """412: what is stored is not what the request expects."""


class PayloadTooLargeError(APIStatusError):
    """413: the request is larger than the operation allows."""


class UnprocessableEntityError(APIStatusError):
    """422: the request is well-formed, but the service refuses its content."""


class RateLimitError(APIStatusError):
    """429: too many requests; wait for `retry_after`."""


class InternalServerError(APIStatusError):
    """500 and above, except 503: the service or a proxy in front of it failed."""


class UnavailableError(APIStatusError):
    """503: the service is unavailable at the moment."""


Failure = TypeVar("Failure", bound=BaseException)


def without_frames(error: Failure, outside: BaseException | None) -> Failure:
    """The error without its traceback: the frames hold credentials and content in variables. `outside` is the exception
    that the caller handles at the moment, and it is not part of the failure."""
    todo: list[BaseException | None] = [error]
    seen = {id(outside)}
    while todo:
        each = todo.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = None
            todo += (each.__cause__, each.__context__)
    return error


_BY_STATUS: dict[int, type[APIStatusError]] = {
    304: NotModifiedError,
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    412: PreconditionFailedError,
    413: PayloadTooLargeError,
    422: UnprocessableEntityError,
    429: RateLimitError,
    503: UnavailableError,
}


def status_error(
    operation: str, status: int, headers: Headers, problem: Problem | None, retry_after: float | None
) -> APIStatusError:
    """Makes the error whose class belongs to the status."""
    kind = _BY_STATUS.get(status, InternalServerError if status >= 500 else APIStatusError)
    if problem is not None:
        message = f"{status} {problem['title']} [{problem['code']}]: {problem['detail']}"
    elif status == 304:
        message = f"{status}: not modified"
    elif 300 <= status < 400:
        message = f"{status}: a redirect, which is not followed"
    else:
        message = f"{status}: without a problem document"
    return kind(
        message, operation=operation, status=status, headers=headers, problem=problem, retry_after=retry_after
    )
