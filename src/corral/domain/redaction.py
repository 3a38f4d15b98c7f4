"""Addresses as they may be shown: without a password, and without what looks like a secret in the query.

An address may stand inside another one, percent-encoded once or several times: its separators are looked for in each of
these forms.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from corral.domain.secret import SHOWN

# Hostile pages choose these texts: each pattern goes over a text once, however it is made.
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
# The value of a parameter of an encoded address ends at a separator that is encoded as often, or less.
_ENCODED_VALUES = [
    re.compile(rf"(?:[^&#;\s\"'<>%]|%(?!(?:25){{0,{level}}}(?:26|23|3B)))+", re.IGNORECASE)
    for level in range(_MAX_LEVEL + 1)
]
# A parameter of a path, `/cart;jsessionid=1A2B/step?page=2`, whose value ends where the path goes on.
_SESSION_NAME = re.compile(r"sess(?:ion)?_?id$", re.IGNORECASE)
_PATH_VALUE = re.compile(r"[^/?&#;\s\"'<>]+")
# Of a parameter whose value opens something: access_token, api-key, X-Amz-Signature, user[password], sid, PHPSESSID.
_SECRET_NAME = re.compile(
    r"(?:token|secret|sess(?:ion)?_?id"
    r"|(?:^|[_.\-\[])(?:(?:api|access|secret|private)?_?key|sig|signature|password|passwd|passcode|passphrase|pwd"
    r"|auth|authorization|bearer|session|sid|jwt|otp|totp|credentials?|saml(?:request|response)"
    r"|(?:auth|authorization|access|verification|reset|login|mfa|otp)_?code)|^code)\]?$",
    re.IGNORECASE,
)
# Names that say as often which product or page is meant. In the address of a result, only a long value is a secret.
_AMBIGUOUS_NAME = re.compile(r"^(?:key|code|auth|sig|session|sid|ticket)$", re.IGNORECASE)
_SECRET_CHARS = 16


def redact(text: str) -> str:
    """The text with the secrets of every address in it replaced; any other text as it is."""
    return _redact(text, results_only=False)


def redact_result_url(url: str, kept: frozenset[str] = frozenset()) -> str:
    """The address of a page as a result of a crawl: a product's short `?code=` or `?key=` is what the user wants, and
    so are the parameters of which the user said that they tell pages apart."""
    return _redact(url, results_only=True, kept=kept)


def find_secrets(text: str) -> list[str]:
    """What `redact` hides of a query, as it stands there and as it is meant: to be kept out of other texts."""
    found = [text[start:end] for start, end in _secret_values(text)]
    return list(dict.fromkeys((*found, *(unquote(each) for each in found))))


def is_secret_name(name: str) -> bool:
    """Of a parameter or a header: whether its value opens something."""
    return _SECRET_NAME.search(name) is not None


def redact_nested(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: redact_nested(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(redact_nested(each) for each in value)
    return value


def _redact(text: str, *, results_only: bool, kept: frozenset[str] = frozenset()) -> str:
    if "@" in text and "://" in text:
        text = _USERINFO.sub(rf"\1{SHOWN}@", text)
    if "%" in text:
        text = _ENCODED_USERINFO.sub(rf"\1{SHOWN}\2", text)
    if "=" in text or "%" in text:
        for start, end in reversed(list(_secret_values(text, results_only=results_only, kept=kept))):
            text = text[:start] + SHOWN + text[end:]
    return text


def _secret_values(
    text: str, *, results_only: bool = False, kept: frozenset[str] = frozenset()
) -> Iterator[tuple[int, int]]:
    """Where they are. An address may stand in the query of another one; what is in a secret is a part of it."""
    done = 0
    for found in _NAME.finditer(text):
        if found.start() < done or not is_secret_name(name := unquote(found["name"])):
            continue
        value = _value_pattern(found, name).match(text, found.end())
        if value is None or name.lower() in kept:
            continue
        if results_only and _AMBIGUOUS_NAME.search(name) and len(value[0]) < _SECRET_CHARS:
            continue
        done = value.end()
        yield value.span()


def _value_pattern(found: re.Match[str], name: str) -> re.Pattern[str]:
    if found["level"] is not None:
        return _ENCODED_VALUES[min(len(found["level"]) // 2, _MAX_LEVEL)]
    return _PATH_VALUE if found["before"] == ";" and _SESSION_NAME.search(name) else _VALUE
