"""Redaction of URLs: passwords, and query values that look like secrets, are replaced.

A URL may be part of another one, percent-encoded once or several times. The patterns therefore match separators in each
of these forms.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from corral.domain.secret import REDACTED

# Hostile pages choose these texts, so each pattern must take linear time on any text.
_USERINFO = re.compile(r"(://)[^/?#\s@]+@")
_ENCODED_USERINFO = re.compile(
    r"(%(?:25)*3A(?:%(?:25)*2F){2})(?:[^/?#\s@&%]|%(?!(?:25)*(?:2F|3F|23|40)))+(%(?:25)*40)", re.IGNORECASE
)
_NAME = re.compile(
    r"(?P<before>[?&#;]|%(?P<level>(?:25)*)(?:3[FB]|2[36]))"
    r"(?P<name>(?:[^=&#;\s?%]|%(?!(?:25)*(?:3[DFB]|2[36])))+)"
    r"(?:=|%(?:25)*3D)",
    re.IGNORECASE,
)
_VALUE = re.compile(r"[^&#;\s\"'<>]+")
_MAX_LEVEL = 3
# The value of a parameter of an encoded URL ends at a separator that is encoded at most as often as the URL.
_ENCODED_VALUES = [
    re.compile(rf"(?:[^&#;\s\"'<>%]|%(?!(?:25){{0,{level}}}(?:26|23|3B)))+", re.IGNORECASE)
    for level in range(_MAX_LEVEL + 1)
]
# A parameter of a path, as in `/cart;jsessionid=1A2B/step?page=2`: its value ends at the next slash.
_SESSION_NAME = re.compile(r"sess(?:ion)?_?id$", re.IGNORECASE)
_PATH_VALUE = re.compile(r"[^/?&#;\s\"'<>]+")
# Names of parameters with credentials: access_token, api-key, X-Amz-Signature, user[password], sid, PHPSESSID.
_SECRET_NAME = re.compile(
    r"(?:token|secret|sess(?:ion)?_?id"
    r"|(?:^|[_.\-\[])(?:(?:api|access|secret|private)?_?key|sig|signature|password|passwd|passcode|passphrase|pwd"
    r"|auth|authorization|bearer|session|sid|jwt|otp|totp|credentials?|saml(?:request|response)"
    r"|(?:auth|authorization|access|verification|reset|login|mfa|otp)_?code)|^code)\]?$",
    re.IGNORECASE,
)
# Names that just as often select a product or page. In the URL of a result, only a long value of them is a secret.
_AMBIGUOUS_NAME = re.compile(r"^(?:key|code|auth|sig|session|sid|ticket)$", re.IGNORECASE)
_SECRET_CHARS = 16


def redact(text: str) -> str:
    """Return the text with the secrets of all URLs in it replaced."""
    return _redact(text, results_only=False)


def redact_result_url(url: str, counting_params: frozenset[str] = frozenset()) -> str:
    """Return the URL of a crawled page with its secrets replaced.

    A short `?code=` or `?key=` usually names a product and stays. So do `counting_params`, the parameters that the user
    declared to select pages.
    """
    return _redact(url, results_only=True, counting_params=counting_params)


def find_secrets(text: str) -> list[str]:
    """Return what `redact` hides in a query, both encoded and decoded, so that other texts can be cleaned of it."""
    secrets = [text[start:end] for start, end in _secret_values(text)]
    return list(dict.fromkeys((*secrets, *(unquote(each) for each in secrets))))


def is_secret_name(name: str) -> bool:
    """Return whether the value of a parameter or header with this name is a credential."""
    return _SECRET_NAME.search(name) is not None


def redact_nested(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: redact_nested(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(redact_nested(each) for each in value)
    return value


def _redact(text: str, *, results_only: bool, counting_params: frozenset[str] = frozenset()) -> str:
    if "@" in text and "://" in text:
        text = _USERINFO.sub(rf"\1{REDACTED}@", text)
    if "%" in text:
        text = _ENCODED_USERINFO.sub(rf"\1{REDACTED}\2", text)
    if "=" in text or "%" in text:
        for start, end in reversed(
            list(_secret_values(text, results_only=results_only, counting_params=counting_params))
        ):
            text = text[:start] + REDACTED + text[end:]
    return text


def _secret_values(
    text: str, *, results_only: bool = False, counting_params: frozenset[str] = frozenset()
) -> Iterator[tuple[int, int]]:
    """Yield the spans of secret values. A URL inside a secret value is part of that secret."""
    done = 0
    for match in _NAME.finditer(text):
        if match.start() < done or not is_secret_name(name := unquote(match["name"])):
            continue
        value = _value_pattern(match, name).match(text, match.end())
        if value is None or name.lower() in counting_params:
            continue
        if results_only and _AMBIGUOUS_NAME.search(name) and len(value[0]) < _SECRET_CHARS:
            continue
        done = value.end()
        yield value.span()


def _value_pattern(match: re.Match[str], name: str) -> re.Pattern[str]:
    if match["level"] is not None:
        return _ENCODED_VALUES[min(len(match["level"]) // 2, _MAX_LEVEL)]
    return _PATH_VALUE if match["before"] == ";" and _SESSION_NAME.search(name) else _VALUE
