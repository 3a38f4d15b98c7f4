"""Classify answers that are not HTML, by the few sentences that refuse explicitly."""

import json
import re
from typing import Any

from corral.extract.classify.phrases import plain_text

# An answer with more in it than this has something to say besides no.
_MAX_CHARS = 2_000
_MAX_TEXT_CHARS = 300
_MAX_KEYS = 6
_SAYING = ("error", "message", "detail", "title", "reason", "error_description", "code", "msg")
_VENDOR_CAPTCHA = re.compile(r'"url"\s{0,9}:\s{0,9}"https?:\\?/\\?/[a-z.]{0,40}captcha-delivery\.com')
_VENDOR_BLOCK = re.compile(r'"blockScript"\s{0,9}:|"jsClientSrc"\s{0,9}:')
_SENTENCES = (
    (
        "block",
        r"error code: ?10\d\d|access (?:is |was )?(?:denied|blocked|forbidden)|forbidden|blocked|too many requests"
        r"|(?:you|your ip(?: address)?) (?:have|has) been (?:blocked|banned)|bot detected|request (?:blocked|rejected)",
    ),
    ("captcha", r"captcha[ _]required|(?:please )?(?:solve|complete) the captcha|captcha"),
    (
        "login_wall",
        r"unauthori[sz]ed|unauthenticated|not authenticated|(?:authentication|login)[ _](?:is )?required"
        r"|(?:please |you must )?(?:be )?(?:log|sign|logged|signed) ?in(?: to (?:continue|view|access).{0,40})?"
        r"|authentication credentials were not provided",
    ),
    ("soft_404", r"(?:error )?404(?: (?:page )?not found)?|(?:page |resource |url |item )?(?:was )?not[ _]found"),
)
_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _SENTENCES)


def classify_plain(text: str, *, is_json: bool) -> tuple[str, str] | None:
    """The kind of refusal, by its name, and what was seen; None where the answer is an answer."""
    if len(text) > _MAX_CHARS:
        return None
    if not is_json:
        return _refusal(text) if len(text) <= _MAX_TEXT_CHARS else None
    if _VENDOR_CAPTCHA.search(text):
        return "captcha", "the address of a captcha in place of the answer"
    if _VENDOR_BLOCK.search(text):
        return "block", "the script of a bot detection in place of the answer"
    said = _error_texts(text)
    return next((found for sentence in said if (found := _refusal(sentence))), None)


def _error_texts(text: str) -> list[str]:
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if isinstance(document, dict) and isinstance(document.get("error"), dict):
        document = document["error"]
    if not isinstance(document, dict) or len(document) > _MAX_KEYS:
        return []
    # A list or an object beside the message is content.
    if any(isinstance(value, list | dict) and value for value in document.values()):
        return []
    return [value for key in _SAYING if isinstance(value := document.get(key), str)]


def _refusal(sentence: str) -> tuple[str, str] | None:
    words = plain_text(sentence[:_MAX_TEXT_CHARS]).strip(" .!\"'")
    kind = next((kind for kind, pattern in _PATTERNS if pattern.fullmatch(words)), None)
    return (kind, f"nothing but the words “{words[:80]}”") if kind else None
