"""Decode bytes to text. Never raises; reports the encoding used and how many characters were replaced."""

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import webencodings
from chardetng_py import EncodingDetector

# Labels found on pages that the Encoding Standard does not list, and names of Python's codecs.
_MORE_LABELS = {
    "big5hkscs": "big5",
    "cp874": "windows-874",
    "cp932": "shift_jis",
    "cp949": "euc-kr",
    "euckr": "euc-kr",
    "iso2022-jp": "iso-2022-jp",
    "iso8859-16": "iso-8859-16",
    "latin-1": "latin1",
    "latin9": "iso-8859-15",
    "mac-cyrillic": "x-mac-cyrillic",
    "mac-roman": "macintosh",
    "utf-16-be": "utf-16be",
    "utf-16-le": "utf-16le",
}
# Encodings of the standard that are not character sets.
_NO_CHARSETS = ("replacement", "x-user-defined")
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.IGNORECASE)
_META = re.compile(rb"<meta\b[^>]{0,1000}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9_:.\-]{1,40})", re.IGNORECASE)
_META_WITHIN_BYTES = 4096
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


# Limit of the detector's input: what follows 1 MiB of ASCII says little about the encoding.
_DETECTED_WITHIN_BYTES = 1024 * 1024
# Number of non-ASCII bytes at which the confidence of a guess is one half.
_HALF_CERTAIN_BYTES = 6
_ESCAPE = b"\x1b$"
_TLD = re.compile(r"[a-z0-9-]{2,63}")


class CharsetSource(StrEnum):
    """How the encoding of a document was determined."""

    BOM = "bom"
    HEADER = "header"
    META = "meta"
    DETECTED = "detected"


@dataclass(frozen=True, slots=True)
class Decoded:
    text: str
    encoding: str
    replacements: int
    utf8: bytes | None = None  # the same text, if the body was valid UTF-8
    source: CharsetSource = CharsetSource.DETECTED
    confidence: float = 1.0  # 0..1, below 1 only for a detected encoding

    def notes(self) -> dict[str, Any]:
        """Return the source and the confidence, for the statistics of a run."""
        return {"source": self.source.value, "confidence": self.confidence}


def decode(body: bytes, content_type: str | None = None, host: Callable[[], str] = str) -> Decoded:
    """Decode by the BOM, else the header, else the page's own meta element, else a guess from the bytes.

    `host` is called only for a guess: its top-level domain decides between encodings that the bytes alone cannot
    tell apart.
    """
    for bom, codec in _BOMS:
        if body.startswith(bom):
            return _decode_with(body[len(bom) :], codec, CharsetSource.BOM)
    if (codec_name := _codec_of_header(content_type)) is not None:
        return _decode_with(body, codec_name, CharsetSource.HEADER)
    if (codec_name := _codec_of_meta(body)) is not None:
        return _decode_with(body, codec_name, CharsetSource.META)
    codec_name, confidence = _guess_codec(body, host())
    return replace(_decode_with(body, codec_name), confidence=confidence)


def clean_text(text: str) -> str:
    """Return the text without NUL and lone surrogates, which no database column accepts."""
    if text.isascii():
        return _without_nul(text)
    try:
        text.encode("utf-8")  # much faster than a regular expression
    except UnicodeEncodeError:
        return _UNSTORABLE.sub("", text)
    return _without_nul(text)


def _decode_with(body: bytes, codec: str, source: CharsetSource = CharsetSource.DETECTED) -> Decoded:
    if codec == "utf-8" and b"\0" not in body:
        with contextlib.suppress(UnicodeDecodeError):
            text = body.decode()
            return Decoded(text, codec, text.count("\ufffd"), body, source)  # fast for narrow texts
    try:
        text = body.decode(codec, "replace")
    except (UnicodeError, LookupError, ValueError):
        codec = "utf-8"
        text = body.decode(codec, "replace")
    # Decoding UTF-8 never yields lone surrogates.
    cleaned = _without_nul(text) if codec == "utf-8" else clean_text(text)
    return Decoded(cleaned, codec, text.count("\ufffd"), source=source)


def _without_nul(text: str) -> str:
    return text.replace("\0", "") if "\0" in text else text


def _codec_of(label: str) -> str | None:
    """Return Python's codec for a label that browsers know, or None.

    Python also accepts labels that are not character sets (`zlib`, `unicode_escape`), and UTF-7, which lets a page
    hide markup from filters.
    """
    encoding: Any = webencodings.lookup(_MORE_LABELS.get(label.lower(), label))
    if encoding is None or encoding.name in _NO_CHARSETS:
        return None
    # The standard decodes GBK as GB18030, its superset.
    return "gb18030" if encoding.name == "gbk" else str(encoding.codec_info.name).replace("_", "-")


def _codec_of_header(content_type: str | None) -> str | None:
    match = _HEADER.search(content_type[:1000]) if content_type else None
    return _codec_of(match[1]) if match else None


def _codec_of_meta(body: bytes) -> str | None:
    match = _META.search(body[:_META_WITHIN_BYTES])
    if match is None:
        return None
    codec = _codec_of(match[1].decode("ascii"))
    # A meta tag that could be read as ASCII cannot be in UTF-16.
    return "utf-8" if codec in ("utf-16-le", "utf-16-be") else codec


def _guess_codec(body: bytes, host: str) -> tuple[str, float]:
    """Return the codec and the confidence of the guess."""
    sample = body[:4096]
    if len(sample) >= 8:
        odd, even = sample[1::2].count(0), sample[0::2].count(0)
        if odd > 0.4 * len(sample) / 2 and even < 0.1 * len(sample) / 2:
            return "utf-16-le", 0.9
        if even > 0.4 * len(sample) / 2 and odd < 0.1 * len(sample) / 2:
            return "utf-16-be", 0.9
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        high = sum(byte >= 0x80 for byte in sample)
        broken = sample.decode("utf-8", "replace").count("\ufffd")
        # Mostly complete multi-byte sequences: damaged UTF-8.
        if high and broken < high / 4:
            return "utf-8", round(1 - broken / high, 2)
        return _detect_codec(body, host)
    # Seven-bit encodings such as ISO-2022-JP are valid UTF-8, too; only their escape sequences differ.
    return _detect_codec(body, host) if _ESCAPE in body else ("utf-8", 1.0)


def _detect_codec(body: bytes, host: str) -> tuple[str, float]:
    """Return the guess of the detector that Firefox uses, and its confidence."""
    sample = body[:_DETECTED_WITHIN_BYTES]
    detector = EncodingDetector()
    detector.feed(sample, last=len(sample) == len(body))
    tld = host.rpartition(".")[2].lower()
    # The detector panics if the TLD is not a valid label of a host name.
    label = tld.encode() if _TLD.fullmatch(tld) and not tld.isdigit() else None
    name, beats_another = detector.guess_assess(tld=label, allow_utf8=True)
    codec = _codec_of(name) or "cp1252"
    if codec in ("utf-8", "iso2022-jp"):
        return codec, 0.9
    high = sum(byte >= 0x80 for byte in sample[:_META_WITHIN_BYTES]) or sum(byte >= 0x80 for byte in sample)
    confidence = high / (high + _HALF_CERTAIN_BYTES)
    if not beats_another:
        confidence /= 4
    elif detector.guess(tld=None, allow_utf8=True) != name:
        confidence /= 2  # the domain decided, not the text
    return codec, round(confidence, 2)
