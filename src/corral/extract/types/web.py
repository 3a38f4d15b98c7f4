"""The types `url`, `image` and `email`."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urljoin

from corral.domain.errors import BadInput
from corral.domain.net.url import parse_target
from corral.extract.types.characters import MAX_LONG_CHARS, MAX_SHORT_CHARS
from corral.extract.types.model import Converted, TypeContext, fail

_MAX_URL_CHARS = 8_192
_MAX_SRCSET_CHARS = 65_536
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")
_BARE_HOST = re.compile(r"(?:[a-z0-9-]+\.)+([a-z]{2,24})(?:[/?#:].*)?", re.IGNORECASE)
_FILE_ENDINGS = "js ts md py rb sh pl gz 7z ps cc"
_HOST_ENDINGS = "com org net info biz edu gov shop store app dev online site xyz museum"
_CSS_URL = re.compile(r"url\(\s*[\"']?([^\"')]{1,8192})[\"']?\s*\)")
_CANDIDATE = re.compile(r"\s*(?:,\s*)*([^\s,]\S*[^\s,]|[^\s,])(?:\s+([\d.]{1,10})([wxh]))?\s*(?:,|$)")
_EMAIL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}@(?:[^\W_](?:[\w-]{0,62})?\.){1,8}[^\W\d_]{2,24}")
_SPELLED = re.compile(r"([\w.-]{1,64}) at ([\w.-]{1,64}) dot (\w{2,24})", re.IGNORECASE)
_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|webp|svg|avif)$", re.IGNORECASE)  # `img@2x.png`
_PROTECTED = re.compile(r"\[email.{0,3}protected\]|/cdn-cgi/l/email-protection")
_AT = re.compile(r"\s*[\[({<]\s*(?:at|ät|arroba|@)\s*[\])}>]\s*", re.IGNORECASE)
_DOT = re.compile(r"\s*[\[({<]\s*(?:dot|punkt|punto|ponto|point|\.)\s*[\])}>]\s*", re.IGNORECASE)


def convert_url(raw: Any, context: TypeContext) -> Converted:
    if isinstance(raw, Mapping):
        raw = next((raw[key] for key in ("url", "contentUrl", "@id", "href") if isinstance(raw.get(key), str)), None)
    if not isinstance(raw, str) or not raw.strip() or len(raw) > _MAX_URL_CHARS:
        return fail("not_a_url")
    text = raw.strip()
    if _SCHEME.match(text) and not text.lower().startswith(("http:", "https:")):
        return fail("data_url" if text.lower().startswith("data:") else "not_http")
    if text.lower().startswith(("http:", "https:")):
        return Converted(text) if _is_address(text) else fail("not_a_url")
    if any(char.isspace() for char in text):
        return fail("not_a_url")
    return _resolve(text, context)


def _resolve(text: str, context: TypeContext) -> Converted:
    """Resolve a URL without a scheme: a host such as www.example.com, else a reference relative to the page."""
    host = _BARE_HOST.fullmatch(text)
    if host is not None and (text.lower().startswith("www.") or _is_host(host)):
        absolute = f"https://{text}"
        return Converted(absolute, 0.8) if _is_address(absolute) else fail("not_a_url")
    if not context.base_url or not re.search(r"[/.?#]", text) or (text.startswith("//") and not text.strip("/")):
        return fail("not_a_url")
    try:
        absolute = urljoin(context.base_url, text)
    except ValueError:
        return fail("not_a_url")
    return Converted(absolute) if _is_address(absolute) else fail("not_a_url")


def _is_host(match: re.Match[str]) -> bool:
    """Return whether a name is a host: `example.com` and `example.de` are, `page.html` and `app.js` are files."""
    ending = match[1].lower()
    return ending in _HOST_ENDINGS.split() or (len(ending) == 2 and ending not in _FILE_ENDINGS.split())


def _is_address(text: str) -> bool:
    try:
        parse_target(text, max_chars=_MAX_URL_CHARS)
    except BadInput:
        return False
    return True


def convert_image(raw: Any, context: TypeContext) -> Converted:
    """Convert to an absolute URL, of the largest candidate in a `srcset`. Inline images (`data:`) are refused."""
    if isinstance(raw, str) and len(raw) <= _MAX_SRCSET_CHARS:
        if match := _CSS_URL.search(raw):
            raw = match[1]
        elif re.search(r"\s[\d.]+[wxh]\s*(?:,|$)|,\s", raw.strip()):
            raw = _largest_candidate(raw)
    converted = convert_url(raw, context)
    return fail("not_an_image") if converted.problems == ("not_a_url",) else converted


def _largest_candidate(text: str) -> str:
    best, best_size = "", -1.0
    for match in _CANDIDATE.finditer(text):
        try:
            size = float(match[2] or 1)
        except ValueError:
            continue
        if size > best_size and not match[1].startswith("data:"):
            best, best_size = match[1], size
    return best or text


def convert_email(raw: Any, _context: TypeContext) -> Converted:
    """Convert to an address with the domain in lower case; forms such as `a (at) b.com` have a lower confidence."""
    if not isinstance(raw, str) or len(raw) > MAX_LONG_CHARS:
        return fail("not_an_email")
    if _PROTECTED.search(raw):
        return fail("protected_email")
    text = raw.strip()
    if text.lower().startswith("mailto:"):
        text = unquote(text[7:]).partition("?")[0]
    confidence = 1.0
    if "@" not in text or _AT.search(text):
        text, confidence = _DOT.sub(".", _AT.sub("@", text))[:MAX_SHORT_CHARS], 0.7
    if "@" not in text and (spelled := _SPELLED.search(text)):
        text, confidence = f"{spelled[1]}@{spelled[2]}.{spelled[3]}", 0.6
    found = list(dict.fromkeys(match[0].strip(".") for match in _EMAIL.finditer(text) if not _PICTURE.search(match[0])))
    if not found:
        return fail("not_an_email")
    local, _, domain = found[0].rpartition("@")
    problems = ("several_emails",) if len(found) > 1 else ()
    return Converted(f"{local}@{domain.lower()}", 0.5 if problems else confidence, problems)
