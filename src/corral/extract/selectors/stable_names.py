"""Which ids, classes and attributes of an element survive the next build of its site, and name the same thing on every
page of a template. Names that a tool generated, and names with the number of one item in them, do neither.
"""

import re

_PARTS = re.compile(r"[-_:]+")
_CASES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_GENERATED = re.compile(
    r"(?:css|sc|jss|jsx|svelte|emotion|makeStyles|tss|ng|ngcontent|nghost|ember|react|radix|headlessui|mui|yui|ext"
    r"|styled|chakra|mantine|data-v|_ng\w+)[-_:]*(?:[0-9a-z]*\d[0-9a-z]*|[a-z]*[A-Z]\w*)(?:[-_]\w+)?"
)
# Words about how an element looks or in which state it is, not about what it holds.
_UTILITY = re.compile(
    r"-?(?:[mp][xytrbl]?|w|h|z|d)-(?:\d[\d./]*|auto|full|px|screen|none|flex|grid|(?:inline-)?block)"
    r"|-?(?:gap|text|bg|flex|grid|items|justify|content|self|rounded|border|shadow|font|leading"
    r"|tracking|col|cols|row|rows|space|divide|top|left|right|bottom|inset|min|max|opacity|order|overflow|hidden"
    r"|block|inline|relative|absolute|fixed|sticky|float|clear|clearfix|transition|duration|ease|cursor|select|sr"
    r"|container|wrapper|wrap|inner|outer|align|list|no|pull|push|offset|visible|underline|uppercase|truncate"
    r"|antialiased|xs|sm|md|lg|xl)(?:-[\w./]+)*"
)
_STATE = re.compile(
    r"(?:is|has|was)-\w+|active|open|opened|closed|selected|current|first|last|odd|even|hover|focus|disabled|loaded"
    r"|loading|lazy|lazyload(?:ed)?|visible|show|shown|fade|in|new|animated|ng-\w+"
)
_VOWELS = frozenset("aeiouyAEIOUY")
_MIN_HASH_CHARS = 5


def is_generated(name: str) -> bool:
    """True for `css-1x2y3z`, `sc-bdVaJa`, `jss12`, `price__3xY2a`, `post-8412`: a tool made it, or one item has it."""
    if _GENERATED.fullmatch(name) or name.startswith("_"):
        return True
    return any(_is_hash(part) for part in _PARTS.split(name) if part)


def rank_name(name: str) -> int:
    """The smallest is the most telling: words for content, then those with a digit, then those of looks and states."""
    if _UTILITY.fullmatch(name) or _STATE.fullmatch(name):
        return 2
    return int(any(char.isdigit() for char in name))


def stable_stem(name: str) -> str | None:
    """The written part of a name to which a build appends a hash: `Card_price__` of `Card_price__3xY2a`."""
    match = re.fullmatch(r"([A-Za-z][A-Za-z-]*(?:_[A-Za-z][A-Za-z-]*)*(?:__|--?|_))([A-Za-z0-9_-]+)", name)
    if match is None or not _is_hash(_PARTS.split(match[2])[0]):
        return None
    words = [part for part in _PARTS.split(match[1]) if part]
    if not words or any(_is_hash(word) or _GENERATED.fullmatch(f"{word}-1a") for word in words):
        return None
    return match[1] if len(match[1].strip("_-")) > 2 else None


def _is_hash(part: str) -> bool:
    """Digits that number something, or letters and digits or cases in an order that no word has."""
    if re.search(r"\d\d", part):
        return True
    if len(part) < _MIN_HASH_CHARS:
        return bool(re.search(r"[A-Za-z]\d[A-Za-z]|\d[A-Za-z]", part)) and len(part) > 2
    if re.search(r"\d", part) and not re.fullmatch(r"[A-Za-z]+\d", part):
        return True
    letters = [char for char in part if char.isalpha()]
    if not any(char in _VOWELS for char in letters):
        return True
    pieces = _CASES.findall(part)
    return len(pieces) > 1 and not part.isupper() and len(part) / len(pieces) < 3
