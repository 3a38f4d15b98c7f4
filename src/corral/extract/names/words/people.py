"""Extract the names of authors from bylines: without `By`, dates and job titles, split into single names."""

import re

from corral.extract.names.words.dates import DATE

_BY = re.compile(
    r"^(?:(?:(?:written|posted|published|reported|words|text|story|article|review(?:ed)?|created|added|submitted"
    r"|recipe|photos?)"
    r"\s+by|by|geschrieben\s+von|verfasst\s+von|ein\s+(?:artikel|beitrag)\s+von|veröffentlicht\s+von"
    r"|(?:beitrag\s+)?von"
    r"|écrit\s+par|publié\s+par|par|escrito\s+por|publicado\s+por|enviado\s+por|por|scritto\s+da|pubblicato\s+da|di"
    r"|(?:geschreven\s+|geplaatst\s+)?door|(?:skriven\s+|skrevet\s+)?a[fv]|kirjoittanut|przez|opublikował"
    r"|autor(?:in|es|a|e|ka)?|authors?|auteurs?|автор|текст|yazan|yazar|napsal|írta|tekst|text|بقلم|كتب(?:ها|ه)?"
    r"|投稿者|著者|作者|撰文|文|글|מאת|نویسنده|लेखक|লেখক|โดย|tác giả|bởi|oleh|penulis|автори?|autorius|autors)"
    r"(?:\s*[:：/／]\s*|\s+)|(?:بقلم|文責|著者|作者|撰文|โดย)\s*)",
    re.IGNORECASE,
)
_NEXT_ROLE = re.compile(
    r"\s+(?:staff\s+(?:writer|reporter)|senior\s+\w+|contributor|correspondent|reporter|edited|photographs?"
    r"|photography|photos?|illustrat(?:ed|ions?)|reviewed|translated|updated|published"
    r"|posted|fotos?|bilder|기자|특파원|記者|记者)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_REPORTER = re.compile(r"[가-힣]{2,4}\s?(?:기자|특파원)|(?:記者|记者)\s?[:：/]?\s?[\u4e00-\u9fff]{2,4}")
_WEEKDAY = re.compile(
    r"[\s,]+(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b.*$|\s*[»«›|].*$",
    re.IGNORECASE | re.DOTALL,
)
_CUT = re.compile(
    r"\s*(?:\||•|·|–|—|\bon\b|\bat\b|\bam\b|\ble\b|\bel\b|\bil\b|(?<!\w)\d|\(|/|,\s*(?:staff|senior|chief|special"
    r"|political"
    r"|contributor|correspondent|reporter|editor|redakt|journalist|freelance|updated|published|photograph"
    r"|and\s+agenc))",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s+(?:and|und|et|og|och|ve|oraz|with|avec|и|та)\s+|\s*&\s*|\s*;\s*|\s*、\s*|\s*／\s*")
# Short words that are also parts of names: they separate names only between full names.
_SHORT_BETWEEN = re.compile(r"\s+(?:y|e|i|a|en|ja|u)\s+")
_MAX_NAME_CHARS = 60
_MAX_NAMES = 100
_NOT_A_NAME = re.compile(
    r"https?:|@|www\.|^(?:admin|administrator|anonymous|guest|unknown|author|autor|auteur|null|none|undefined|n/?a"
    r"|share|follow|editor|staff|by|von|par|por|more|bio|see full bio|view profile|read more|about)$",
    re.IGNORECASE,
)


def is_name(text: str) -> bool:
    if not text or len(text) > _MAX_NAME_CHARS or len(text.split()) > 7 or _NOT_A_NAME.search(text):
        return False
    return sum(char.isdigit() for char in text) <= max(2, len(text) // 4) and any(char.isalpha() for char in text)


def split_names(text: str) -> list[str]:
    """Split a list of names: `Jane Doe, John Roe and Ann Poe` are three names, `Doe, Jane` is one."""
    text = _BY.sub("", text.strip()).strip()
    parts = [part.strip(" ,") for part in _BETWEEN.split(text)]
    # `Salt and Straw` is one name: names of people have two words or more on each side.
    if any(len(part.split()) < 2 and part.isascii() for part in parts):
        parts = [text]
    parts = [piece for part in parts for piece in _split_short(part)]
    names: list[str] = []
    for part in parts:
        pieces = [piece.strip() for piece in re.split(r"\s*[,，]\s*", part) if piece.strip()]
        are_names = len(pieces) > 1 and all(_is_full_name(piece) for piece in pieces)
        # In a list that ends with `and`, commas separate names, too.
        is_list = len(parts) > 1 and len(pieces) > 1 and all(len(piece.split()) > 1 for piece in pieces)
        names += pieces if are_names or (is_list and all(map(is_name, pieces))) else [part]
    return [name for name in names if name][:_MAX_NAMES]


def _split_short(text: str) -> list[str]:
    pieces = _SHORT_BETWEEN.split(text)
    return pieces if len(pieces) > 1 and all(_is_full_name(piece) for piece in pieces) else [text]


def _is_full_name(text: str) -> bool:
    words = text.split()
    return 2 <= len(words) <= 4 and all(word[:1].isupper() or word.lower() in _PARTICLES for word in words)


_PARTICLES = frozenset(
    [
        "de",
        "da",
        "do",
        "dos",
        "das",
        "di",
        "del",
        "della",
        "la",
        "le",
        "van",
        "von",
        "der",
        "den",
        "ter",
        "zu",
        "el",
        "al",
        "bin",
        "ibn",
        "af",
        "av",
        "y",
        "e",
    ]
)


def names_in_byline(text: str) -> list[str]:
    """Return the names in a line that may have more text: `By Jane Doe on 3 May · 5 min read`."""
    rest = _WEEKDAY.sub("", _NEXT_ROLE.sub("", _BY.sub("", text.strip())))
    date = DATE.search(rest)
    rest = rest[: date.start()] if date is not None else rest
    cut = _CUT.search(rest)
    if cut is not None and cut.start() > 0:
        rest = rest[: cut.start()]
    found = [name for name in split_names(rest.strip(" ,:-")) if is_name(name)]
    # A nickname is one word; several words in lower case are a sentence.
    return [name for name in found if len(name.split()) == 1 or is_spoken_name(name)]


def is_spoken_name(text: str) -> bool:
    """Return whether a text looks like a name, not like part of a sentence: capitals, or a script without them."""
    words = text.split()
    if not is_name(text) or len(words) > 5 or text[-1:] in ".!?>":
        return False
    return all(
        word[:1].isupper() or word[:1].lower() == word[:1].upper() or word.lower() in _PARTICLES for word in words
    )


def begins_with_by(text: str) -> bool:
    """Return whether a text begins with `By`, or is a name with the word for a reporter."""
    return _BY.match(text.strip()) is not None or _REPORTER.fullmatch(text.strip()) is not None
