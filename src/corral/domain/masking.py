"""Addresses as they may be shown: without a password, and without what looks like a secret in the query."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from corral.domain.secret import SHOWN

# Hostile pages choose these texts: each pattern goes over a text once, however it is made.
_USERINFO = re.compile(r"(://)[^/?#\s@]+@")
_NAME = re.compile(r"[?&#;]([^=&#;\s?]+)=")
_VALUE = re.compile(r"[^&#;\s\"'<>]+")
# Of a parameter whose value opens something: access_token, api-key, X-Amz-Signature, user[password], sid.
_SECRET_NAME = re.compile(
    r"(?:token|secret"
    r"|(?:^|[_.\-\[])(?:(?:api|access|secret|private)?key|sig|signature|password|passwd|pwd|auth|authorization"
    r"|session|session_?id|sid|jwt))\]?$",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """The text with the secrets of every address in it replaced; any other text as it is."""
    if "@" in text and "://" in text:
        text = _USERINFO.sub(rf"\1{SHOWN}@", text)
    if "=" in text:
        for start, end in reversed(list(_secret_values(text))):
            text = text[:start] + SHOWN + text[end:]
    return text


def secrets_in(text: str) -> list[str]:
    """What `masked` hides of a query, as it stands there and as it is meant: to be kept out of other texts."""
    found = [text[start:end] for start, end in _secret_values(text)]
    return list(dict.fromkeys((*found, *(unquote(each) for each in found))))


def names_a_secret(name: str) -> bool:
    """Of a parameter or a header: whether its value opens something."""
    return _SECRET_NAME.search(name) is not None


def masked_deeply(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {key: masked_deeply(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(masked_deeply(each) for each in value)
    return value


def _secret_values(text: str) -> Iterator[tuple[int, int]]:
    """Where they are. An address may stand in the query of another one; what is in a secret is a part of it."""
    done = 0
    for name in _NAME.finditer(text):
        if name.start() < done or not _SECRET_NAME.search(name[1]):
            continue
        value = _VALUE.match(text, name.end())
        if value is not None:
            done = value.end()
            yield value.span()
