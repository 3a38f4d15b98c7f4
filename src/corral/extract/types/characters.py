"""Normalise equivalent characters: digits of all scripts, full-width signs, dashes and spaces."""

import re
import unicodedata

# A longer text is not a single number, date or phone number; the limit bounds the time of every pattern.
MAX_SHORT_CHARS = 200
MAX_LONG_CHARS = 2_000

_INVISIBLE = (
    "\u200b\u200c\u200d\u200e\u200f\u061c\u2060\u2066\u2067\u2068\u2069\u202a\u202b\u202c\u202d\u202e\ufeff\u00ad"
)
_SIGNS = str.maketrans(
    {
        **dict.fromkeys(_INVISIBLE),
        "\u2212": "-",  # minus
        "\uff0d": "-",
        "\u2010": "-",
        "\u2011": "-",
        "\uff0b": "+",
        "\uff0c": ",",
        "\uff0e": ".",
        "\uff05": "%",
        "\u066a": "%",
        "\uff04": "$",
        "\uffe5": "¥",
        "\uffe1": "£",
        "\uff1a": ":",
        "\uff0f": "/",
        "\uff08": "(",
        "\uff09": ")",
        "\uff1e": ">",
        "\u3000": " ",
        "\u00a0": "\u202f",  # one form for all no-break spaces, which group digits
        "\u2009": "\u202f",
        "\u2007": "\u202f",
        "\u2008": "\u202f",
        "\u2019": "'",
        "\u02bc": "'",
        "\u2018": "'",
    }
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_SPACES = re.compile(r"\s+")


def normalize_signs(text: str) -> str:
    """Return the text with ASCII digits and one form of each sign."""
    if text.isascii():
        return text
    return _NOT_ASCII.sub(_ascii_digit, text.translate(_SIGNS))


def _ascii_digit(match: re.Match[str]) -> str:
    digit = unicodedata.decimal(match[0], None)
    return match[0] if digit is None else str(digit)


def collapse_spaces(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


def to_text(value: object) -> str | None:
    """Return the text of a scalar; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return None
