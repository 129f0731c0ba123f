"""The log of the client, and a filter that removes credentials from any log."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

from ._credentials import CREDENTIAL_HEADERS

_NAMES = (
    *CREDENTIAL_HEADERS,
    *("leasetoken", "lease_token", "lease-token", "svc_api_key", "svc_identity_token", "api_key"),
)

# A credential without a name before it. Prose after the word `basic` is rarely base64.
_BEARER = re.compile(r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]+=*")
_BASIC = re.compile(r"\b(?i:basic)\s+(?=[A-Za-z0-9+/]+[A-Z0-9+/=])[A-Za-z0-9+/]{6,}={0,2}")

# A quoted value ends at its quote or at the end of the line; quotes may be escaped. After a colon, as in a header, the
# value is the rest of the line. After an equals sign it ends at a space; one space may follow the scheme.
_VALUE = r"""
    (?: (?P<between>\\*["']?\s*[:=,]\s*b?(?P<quote>\\+["'])) (?:(?!(?P=quote))[^\r\n])+
      | (?P<between2>["']?\s*[:=,]\s*b?(?P<quote2>["'])) (?:\\.|(?!(?P=quote2))[^\r\n])+
      | (?P<between3>["']?[ \t]*:[ \t]*) (?!null\b|None\b|[\s"']) [^\r\n]+
      | (?P<between4>["']?\s*=\s*) (?!["']) (?:(?:bearer|basic|digest|negotiate)\s+)? \S+
    )"""


class CredentialFilter(logging.Filter):
    """Removes credentials and lease tokens from log records and their exceptions: the values of known names, and the
    words after `Bearer` or `Basic`.

    The client's logger `svc_client` has this filter as a precaution. Add it to a handler whose records come from code
    that prints requests. `names` are further headers, such as `api_key_header`.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__()
        all_names = "|".join(re.escape(name) for name in (*_NAMES, *names))
        self._pattern = re.compile(rf"(?P<name>{all_names}){_VALUE}", re.IGNORECASE | re.VERBOSE)

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            text = record.getMessage()
        except Exception:
            # The arguments do not fit the message: `logging` would print both as they are.
            text = f"{record.msg} {record.args!r}"
            record.msg, record.args = self.redact(text), ()
        else:
            clean = self.redact(text)
            if clean != text:
                record.msg, record.args = clean, ()
        self._filter_exception(record)
        return True

    def _filter_exception(self, record: logging.LogRecord) -> None:
        if record.exc_info and not record.exc_text:
            text = _FORMATTER.formatException(record.exc_info)
        else:
            text = record.exc_text or ""
        clean = self.redact(text)
        if clean != text:
            # A later handler would format the exception again, with the credentials.
            record.exc_info, record.exc_text = None, clean
        if record.stack_info:
            record.stack_info = self.redact(record.stack_info)

    def redact(self, text: str) -> str:
        text = self._pattern.sub(_without_value, text)
        return _BASIC.sub("Basic [redacted]", _BEARER.sub("Bearer [redacted]", text))


_FORMATTER = logging.Formatter()


def _without_value(found: re.Match[str]) -> str:
    between = next(part for part in (found[f"between{n}"] for n in ("", "2", "3", "4")) if part is not None)
    return f"{found['name']}{between}[redacted]"


logging.getLogger("svc_client").addFilter(CredentialFilter())
