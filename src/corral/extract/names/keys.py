"""The canonical form and the spellings of a bare name."""

import re

from corral.extract.names.words.aliases import ALIASES
from corral.extract.names.words.text import plain

_MAX_WORD_CHARS = 64


def canonical(name: str) -> str:
    """Return the canonical name of several synonyms."""
    key = plain(name)
    return ALIASES.get(key, key)


def markup_words(name: str) -> list[str]:
    """Return the spellings of a name in ids and classes: `cover_price`, `cover-price`."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip()).lower()
    spellings = (name.strip(), snake, re.sub(r"[\s_]+", "-", snake), re.sub(r"[\s-]+", "_", snake))
    return [word for word in dict.fromkeys(spellings) if _is_word(word)]


def _is_word(text: str) -> bool:
    if not 0 < len(text) <= _MAX_WORD_CHARS:
        return False
    return text.replace("-", "").replace("_", "").isalnum() and text.isascii() and not text[0].isdigit()
