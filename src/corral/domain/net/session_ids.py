"""Recognize session ids among URL parameters: the name suggests one, and the value looks random.

`?sid=7` selects story 7; `?sid=9f86d081884c7d65` identifies a visitor.
"""

import re

_NAMES = frozenset(
    {"sid", "sessid", "sessionid", "session_id", "phpsessid", "jsessionid", "aspsessionid"}
    | {"cfid", "cftoken", "zenid", "oscsid"}
)
_STARTS = ("aspsessionid",)
_NUMBERED = frozenset({"cfid", "cftoken"})  # ColdFusion numbers its visitors sequentially
_PATH = re.compile(r";(jsessionid|phpsessid|sessionid|sid)=([^/;]*)", re.IGNORECASE)
_UUID = re.compile(r"\{?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\}?", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]{16,}", re.IGNORECASE)
_WORD_OF_NAME = re.compile(r"(?:^|[-_.])[A-Za-z]{3,}(?:[-_.]|$)")
_CHANGES = re.compile(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])")  # between letters and digits
_CASES = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[a-z])")
_LEAST_CHARS, _LEAST_CHANGES = 10, 4
_LEAST_LETTERS, _LEAST_CASES = 20, 6
_LEAST_DIGITS = 6


def is_session_id(name: str, value: str) -> bool:
    """True for a session id. `name` is in lower case, `value` as written in the URL."""
    if name not in _NAMES and not name.startswith(_STARTS):
        return False
    if name in _NUMBERED and value.isdigit():
        return len(value) >= _LEAST_DIGITS
    return looks_random(value)


def looks_random(value: str) -> bool:
    """True for a long mix of characters that is no number, word or name."""
    if _UUID.fullmatch(value) or (_HEX.fullmatch(value) and not value.isalpha()):
        return True
    if len(value) >= _LEAST_LETTERS and len(_CASES.findall(value)) >= _LEAST_CASES:
        return True
    is_name = _WORD_OF_NAME.search(value) is not None
    return not is_name and len(value) >= _LEAST_CHARS and len(_CHANGES.findall(value)) >= _LEAST_CHANGES


def without_sessions(path: str, counting_params: frozenset[str] = frozenset()) -> str:
    """Remove session ids from a path (`/page;jsessionid=…`)."""

    def strip_session(match: re.Match[str]) -> str:
        name = match[1].lower()
        return match[0] if name in counting_params or not looks_random(match[2]) else ""

    return _PATH.sub(strip_session, path)
