"""What the client logs, and what nobody's log should hold."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

from ._credentials import CREDENTIAL_HEADERS

_NAMES = (
    *CREDENTIAL_HEADERS,
    *("leasetoken", "lease_token", "lease-token", "svc_api_key", "svc_identity_token", "api_key"),
)

# A credential also where no name stands before it. What comes after `basic` in prose is no base64.
_BEARER = re.compile(r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]+=*")
_BASIC = re.compile(r"\b(?i:basic)\s+(?=[A-Za-z0-9+/]+[A-Z0-9+/=])[A-Za-z0-9+/]{6,}={0,2}")

# A value in quotes ends with them, or with the line; quotes may be those of a text within a text. After a colon, as in
# a header, the line is the value; after an equals sign, what comes up to a space, and a space may follow the scheme.
_VALUE = r"""
    (?: (?P<between>\\*["']?\s*[:=,]\s*b?(?P<quote>\\+["'])) (?:(?!(?P=quote))[^\r\n])+
      | (?P<between2>["']?\s*[:=,]\s*b?(?P<quote2>["'])) (?:\\.|(?!(?P=quote2))[^\r\n])+
      | (?P<between3>["']?[ \t]*:[ \t]*) (?!null\b|None\b|[\s"']) [^\r\n]+
      | (?P<between4>["']?\s*=\s*) (?!["']) (?:(?:bearer|basic|digest|negotiate)\s+)? \S+
    )"""


class CredentialFilter(logging.Filter):
    """Takes credentials and lease tokens out of log records, the text of an exception included: values that stand
    behind the names they travel under, and what follows `Bearer` or `Basic`.

    The client's own logger `svc_client` has one, though nothing of that kind is logged there. Give one to a handler
    that gets records of code which prints requests. `names` are headers of your own, such as `api_key_header`.
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
            # Whoever formats it again would find what was taken out.
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
