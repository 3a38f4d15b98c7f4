"""Addresses as they may be shown: without a password, and without what looks like a secret in the query."""

import re
from typing import Any

from corral.domain.secret import SHOWN

_USERINFO = re.compile(r"(\b[a-z][a-z0-9+.\-]*://)[^/?#\s@]+@", re.IGNORECASE)
# A parameter whose name says that its value opens something: access_token, api-key, X-Amz-Signature, sid.
_PARAMETER = re.compile(
    r"([?&#;](?:[^=&#;\s?]*[_.\-]|)"
    r"(?:\w*token|(?:api|access|secret|private)?key|sig|signature|\w*secret|password|passwd|pwd|auth|authorization"
    r"|session|session_?id|sid|jwt)"
    r"=)[^&#;\s\"'<>]+",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """The text with the secrets of every address in it replaced; any other text as it is."""
    if "@" in text and "://" in text:
        text = _USERINFO.sub(rf"\1{SHOWN}@", text)
    if "=" in text:
        text = _PARAMETER.sub(rf"\1{SHOWN}", text)
    return text


def masked_deeply(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {key: masked_deeply(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(masked_deeply(each) for each in value)
    return value
