"""What the client logs, and what nobody's log should hold."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

_NAMES = ("authorization", "proxy-authorization", "x-serverless-authorization", "x-svc-api-key", "leasetoken")
_BEARER = re.compile(r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]+=*")


class CredentialFilter(logging.Filter):
    """Takes credentials and lease tokens out of log records: values that stand behind the names they travel under.

    The client's own logger `svc_client` has one, though nothing of that kind is logged there. Give one to a handler
    that gets records of code which prints requests. `names` are headers of your own, such as `api_key_header`.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__()
        all_names = "|".join(re.escape(name) for name in (*_NAMES, *names))
        # A name, perhaps quoted; what stands between name and value in headers, JSON, dicts and tuples; and the value.
        self._pattern = re.compile(
            rf"(?i)((?:{all_names})[\"']?\s*[:=,]\s*b?[\"']?)(?:bearer\s+)?[^\s\"',;)\]}}]+"
        )

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        clean = self.redact(text)
        if clean != text:
            record.msg, record.args = clean, ()
        return True

    def redact(self, text: str) -> str:
        return _BEARER.sub("Bearer [redacted]", self._pattern.sub(r"\1[redacted]", text))


logging.getLogger("svc_client").addFilter(CredentialFilter())
