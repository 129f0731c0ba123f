"""The client of `svc`: one method for every public operation, generated from the contract."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from . import models
from ._cancellation import Cancellation
from ._client import Client
from ._credentials import AsyncCredential, Credential
from ._errors import (
    APIAbortError,
    APIConnectionError,
    APIResponseError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    InternalServerError,
    NotFoundError,
    NotModifiedError,
    PayloadTooLargeError,
    PermissionDeniedError,
    PreconditionFailedError,
    RateLimitError,
    SvcError,
    UnavailableError,
    UnprocessableEntityError,
)
from ._generated.problems import ProblemCode
from ._generated.version import VERSION
from ._headers import Headers
from ._logging import CredentialFilter
from ._operation import BinaryContent, BinaryReader, FilePart, PreviewWarning
from ._options import AsyncCallOptions, AsyncClientOptions, CallOptions, ClientOptions
from ._paging import AsyncPages, Pages
from ._problem import Problem, ProblemAdmission, ProblemPlace
from ._responses import APIResponse, StreamedResponse
from ._world import AsyncWorld, World

if TYPE_CHECKING:
    from ._async_client import AsyncClient
    from ._async_transport import AsyncStreamedResponse

__version__ = VERSION

__all__ = [
    "VERSION",
    "APIAbortError",
    "APIConnectionError",
    "APIResponse",
    "APIResponseError",
    "APIStatusError",
    "APITimeoutError",
    "AsyncCallOptions",
    "AsyncClient",
    "AsyncClientOptions",
    "AsyncCredential",
    "AsyncPages",
    "AsyncStreamedResponse",
    "AsyncWorld",
    "AuthenticationError",
    "BadRequestError",
    "BinaryContent",
    "BinaryReader",
    "CallOptions",
    "Cancellation",
    "Client",
    "ClientOptions",
    "ConflictError",
    "Credential",
    "CredentialFilter",
    "FilePart",
    "Headers",
    "InternalServerError",
    "NotFoundError",
    "NotModifiedError",
    "Pages",
    "PayloadTooLargeError",
    "PermissionDeniedError",
    "PreconditionFailedError",
    "PreviewWarning",
    "Problem",
    "ProblemAdmission",
    "ProblemCode",
    "ProblemPlace",
    "RateLimitError",
    "StreamedResponse",
    "SvcError",
    "UnavailableError",
    "UnprocessableEntityError",
    "World",
    "__version__",
    "models",
]

# Without the extra, `from svc_client import *` gives the other names instead of an error.
if not TYPE_CHECKING and not all(find_spec(name) for name in ("httpx2", "anyio")):
    __all__[:] = [name for name in __all__ if name not in ("AsyncClient", "AsyncStreamedResponse")]


def __getattr__(name: str) -> object:
    """`AsyncClient` needs an extra, and programs without the extra do not import httpx2."""
    if name == "AsyncClient":
        from ._async_client import AsyncClient

        return AsyncClient
    if name == "AsyncStreamedResponse":
        from ._async_transport import AsyncStreamedResponse

        return AsyncStreamedResponse
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
