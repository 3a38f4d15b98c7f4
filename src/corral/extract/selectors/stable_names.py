"""Tell stable names of elements from generated ones.

A stable id, class or attribute survives the next build of its site and names the same thing on every page of a
template. Names that a tool generated, and names with the number of one item in them, do neither.
"""

import re

_PARTS = re.compile(r"[-_:]+")
_CASES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_GENERATED = re.compile(
    r"(?:css|sc|jss|jsx|svelte|emotion|makeStyles|tss|ng|ngcontent|nghost|ember|react|radix|headlessui|mui|yui|ext"
    r"|styled|chakra|mantine|data-v|_ng\w+)[-_:]*(?:[0-9a-z]*\d[0-9a-z]*|[a-z]*[A-Z]\w*)(?:[-_]\w+)?"
)
# Names for the look or the state of an element, not for its content.
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
    """Return whether a tool generated the name, or only one item has it: `css-1x2y3z`, `price__3xY2a`, `post-8412`."""
    if _GENERATED.fullmatch(name) or name.startswith("_"):
        return True
    return any(_is_hash(part) for part in _PARTS.split(name) if part)


def rank_name(name: str) -> int:
    """Return the rank of a name: 0 for words about content, 1 with a digit, 2 for looks and states."""
    if _UTILITY.fullmatch(name) or _STATE.fullmatch(name):
        return 2
    return int(any(char.isdigit() for char in name))


def stable_stem(name: str) -> str | None:
    """Return the stable part of a name to which a build appends a hash: `Card_price__` of `Card_price__3xY2a`."""
    match = re.fullmatch(r"([A-Za-z][A-Za-z-]*(?:_[A-Za-z][A-Za-z-]*)*(?:__|--?|_))([A-Za-z0-9_-]+)", name)
    if match is None or not _is_hash(_PARTS.split(match[2])[0]):
        return None
    words = [part for part in _PARTS.split(match[1]) if part]
    if not words or any(_is_hash(word) or _GENERATED.fullmatch(f"{word}-1a") for word in words):
        return None
    return match[1] if len(match[1].strip("_-")) > 2 else None


def _is_hash(part: str) -> bool:
    """Return whether a part has a number, or letters, digits and cases in an order that no word has."""
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
