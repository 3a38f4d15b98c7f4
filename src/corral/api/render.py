"""Render values as compact JSON, with times in UTC and a Z, and encode cursors."""

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Any

import orjson
from starlette.responses import Response

from corral.domain.errors import BadInput
from corral.domain.ids import is_id
from corral.views.runs import event, job, record, run

__all__ = [
    "answer",
    "cursor_id",
    "cursor_in_parts",
    "cursor_number",
    "cursor_of",
    "cursor_owner",
    "dumps",
    "event",
    "job",
    "page",
    "record",
    "run",
]

_OWNER = re.compile(r"[0-9a-f]{32}")
_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS


def dumps(value: Any) -> bytes:
    return orjson.dumps(value, option=_OPTIONS)


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(dumps(value), status, headers, media_type="application/json")


def page(rows: Sequence[Any], last_id: str | None, limit: int) -> Response:
    """Return a list, with the cursor of the next page in a header if there may be one."""
    headers = {"X-Next-Cursor": cursor_of(last_id)} if last_id and len(rows) == limit else None
    return answer(rows, headers=headers)


def cursor_of(last_id: str) -> str:
    return base64.urlsafe_b64encode(last_id.encode()).decode().rstrip("=")


def cursor_owner(cursor: str | None) -> str:
    """Return the owner in a cursor: 128 random bits in hex, not a UUID."""
    text = "" if cursor is None else _decode(cursor)
    if cursor is not None and not _OWNER.fullmatch(text):
        raise _bad_cursor()
    return text


def cursor_id(cursor: str | None) -> str | None:
    if cursor is None:
        return None
    text = _decode(cursor)
    if not is_id(text):
        raise _bad_cursor()
    return text


def cursor_in_parts(cursor: str | None) -> str | None:
    """Return the position in a list of two parts: the name of the part, and optionally an id in it."""
    if cursor is None:
        return None
    text = _decode(cursor)
    part, _, record_id = text.partition(":")
    if part not in ("seen", "absent") or (record_id and not is_id(record_id)):
        raise _bad_cursor()
    return text


def cursor_number(cursor: str | None) -> int | None:
    """Return the number in the cursor of a list whose rows have numbers."""
    if cursor is None:
        return None
    text = _decode(cursor)
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise _bad_cursor()
    return int(text)


def _decode(cursor: str) -> str:
    try:
        return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, ValueError):
        return ""


def _bad_cursor() -> BadInput:
    return BadInput("the cursor is not valid", field="cursor", hint="send the value of X-Next-Cursor unchanged")
