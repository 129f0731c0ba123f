"""Every error of the client, as a tree: catch the branch that you can do something about."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ._headers import Headers

if TYPE_CHECKING:
    from ._generated.problems import ProblemCode
    from ._problem import Problem, ProblemPlace


class SvcError(Exception):
    """The root. No error of the tree holds a credential."""

    operation: str | None
    """The operation that was called; None where none was."""

    def __init__(self, message: str, *, operation: str | None = None) -> None:
        super().__init__(message)
        self.operation = operation


class APIConnectionError(SvcError):
    """No whole answer came. Whether a write was carried out is not known: repeat it with the same key, or look."""


class APITimeoutError(APIConnectionError):
    """The time of the call was over before it succeeded."""


class APIAbortError(SvcError):
    """The caller's `Cancellation` ended the call."""


class APIResponseError(SvcError):
    """The answer is of a status that was expected, but not of the form."""


class APIStatusError(SvcError):
    """A service answered that the request did not succeed."""

    status: int
    problem: Problem | None
    """The problem document (RFC 9457); None where the answer holds none, such as that of a proxy."""
    code: ProblemCode | str | None
    """What to branch on. The vocabulary only grows."""
    retryable: bool | None
    """Whether the same request can succeed later without being changed; None where the answer does not say."""
    retry_after: float | None
    """How long to wait before trying again, in seconds; None where the answer does not say."""
    correlation_id: str | None
    """What to tell whoever runs the service."""
    errors: list[ProblemPlace]
    """The refused places of the request."""
    headers: Headers
    """Those of the answer."""

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
        self.errors = [] if problem is None else problem.get("errors", [])


class BadRequestError(APIStatusError):
    """400: the request breaks a rule; `errors` says where."""


class AuthenticationError(APIStatusError):
    """401: a credential is missing, or does not hold."""


class PermissionDeniedError(APIStatusError):
    """403: the caller may not do this."""


class NotFoundError(APIStatusError):
    """404: not there, or not the caller's to see."""


class ConflictError(APIStatusError):
    """409: the request disagrees with what is there, as `code` says. Never repeated by the client."""


class PreconditionFailedError(APIStatusError):
    """412: a document is not at the revision that the request expects."""


class PayloadTooLargeError(APIStatusError):
    """413: more than the operation takes at once."""


class UnprocessableEntityError(APIStatusError):
    """422: understood, and refused for what it asks."""


class RateLimitError(APIStatusError):
    """429: too much at a time; `retry_after` says how long to wait."""


class InternalServerError(APIStatusError):
    """500 and above, but 503: a fault of the service, or of what is in front of it."""


class UnavailableError(APIStatusError):
    """503: not now."""


Failure = TypeVar("Failure", bound=BaseException)


def without_frames(error: Failure, outside: BaseException | None) -> Failure:
    """A failure as it says itself, and without the frames it came through, in which what was sent stands as it is. What
    a caller was dealing with when the call was made, `outside`, is no part of it."""
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
    """The error of an answer, of the class of its status."""
    kind = _BY_STATUS.get(status, InternalServerError if status >= 500 else APIStatusError)
    if problem is not None:
        message = f"{status} {problem['title']} [{problem['code']}]: {problem['detail']}"
    elif 300 <= status < 400:
        message = f"{status}: a redirect, which is not followed"
    else:
        message = f"{status}: without a problem document"
    return kind(
        message, operation=operation, status=status, headers=headers, problem=problem, retry_after=retry_after
    )
