"""Classify responses that are not HTML, by the few sentences that are explicit refusals."""

import json
import re
from typing import Any

from corral.extract.classify.phrases import plain_text

# A longer response has content beside the refusal.
_MAX_CHARS = 2_000
_MAX_TEXT_CHARS = 300
_MAX_KEYS = 6
_MESSAGE_KEYS = ("error", "message", "detail", "title", "reason", "error_description", "code", "msg")
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
    """Return the kind of a refusal as a value of `PageClass`, and the evidence; None if the response is content."""
    if len(text) > _MAX_CHARS:
        return None
    if not is_json:
        return _refusal(text) if len(text) <= _MAX_TEXT_CHARS else None
    if _VENDOR_CAPTCHA.search(text):
        return "captcha", "the address of a captcha in place of content"
    if _VENDOR_BLOCK.search(text):
        return "block", "the script of a bot detection in place of content"
    sentences = _error_texts(text)
    return next((found for sentence in sentences if (found := _refusal(sentence))), None)


def _error_texts(text: str) -> list[str]:
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if isinstance(document, dict) and isinstance(document.get("error"), dict):
        document = document["error"]
    if not isinstance(document, dict) or len(document) > _MAX_KEYS:
        return []
    # A list or an object beside the message counts as content.
    if any(isinstance(value, list | dict) and value for value in document.values()):
        return []
    return [value for key in _MESSAGE_KEYS if isinstance(value := document.get(key), str)]


def _refusal(sentence: str) -> tuple[str, str] | None:
    words = plain_text(sentence[:_MAX_TEXT_CHARS]).strip(" .!\"'")
    kind = next((kind for kind, pattern in _PATTERNS if pattern.fullmatch(words)), None)
    return (kind, f"nothing but the words “{words[:80]}”") if kind else None
