"""The type `category`: a path from the broadest level to the narrowest."""

import re
from typing import Any

from corral.extract.types.characters import MAX_LONG_CHARS, collapse_spaces
from corral.extract.types.model import Converted, TypeContext, fail

_MAX_LEVELS = 50
# Signs that always separate levels, and signs that do so only in a text without the first kind.
_STRONG = re.compile(r"\s*(?:[-=]?>|›|»|→|▸|▶|»|⟩|≫|❯|&gt;|::|＞)\s*|\s*\n\s*")
_WEAK = (re.compile(r"\s+[/|\\·•]\s+"), re.compile(r"\s+[-–]\s+"), re.compile(r"\s*/\s*|\s*\|\s*"))
_HOME = frozenset(
    {
        *(
            "home",
            "homepage",
            "home page",
            "start",
            "startseite",
            "hauptseite",
            "accueil",
            "page d'accueil",
            "inicio",
            "início",
        ),
        *(
            "página inicial",
            "pagina iniziale",
            "главная",
            "головна",
            "strona główna",
            "domů",
            "domov",
            "kezdőlap",
            "acasă",
            "hjem",
        ),
        *(
            "hem",
            "forside",
            "etusivu",
            "ana sayfa",
            "anasayfa",
            "αρχική",
            "начало",
            "ホーム",
            "トップ",
            "首页",
            "首頁",
            "홈",
            "الرئيسية",
        ),
        *(
            "דף הבית",
            "होम",
            "หน้าแรก",
            "trang chủ",
            "beranda",
            "naslovnica",
            "domača stran",
            "avaleht",
            "pradžia",
            "sākums",
        ),
    }
)


def convert_category(raw: Any, _context: TypeContext) -> Converted:
    if isinstance(raw, list):
        return _convert_list(raw)
    if not isinstance(raw, str) or len(raw) > MAX_LONG_CHARS:
        return fail("not_a_category" if not isinstance(raw, str) else "too_long")
    path, confidence = _split(raw)
    return _store(path, confidence)


def _convert_list(raw: list[Any]) -> Converted:
    """Convert a list to the levels of one path, or to several paths if its items are paths or contain separators."""
    items = raw[:_MAX_LEVELS]
    if all(isinstance(item, str) and not _STRONG.search(item.strip()) for item in items):
        return _store([collapse_spaces(item[:MAX_LONG_CHARS]) for item in items], 1.0)
    paths = [path for item in items if (path := _store(_levels_of(item), 1.0).value)]
    problems = (f"dropped_items:{len(raw) - len(paths)}",) if len(paths) < len(raw) else ()
    return Converted(paths, 1.0, problems) if paths else fail("not_a_category")


def _levels_of(item: Any) -> list[str]:
    texts = item if isinstance(item, list) else [item]
    return [level for text in texts if isinstance(text, str) for level in _split_strong(text[:MAX_LONG_CHARS])]


def _split_strong(text: str) -> list[str]:
    return [collapse_spaces(level) for level in _STRONG.split(text.strip())]


def _split(text: str) -> tuple[list[str], float]:
    text = text.strip()
    if _STRONG.search(text):
        return _split_strong(text), 1.0
    for number, pattern in enumerate(_WEAK):
        if pattern.search(text):
            return [collapse_spaces(level) for level in pattern.split(text)], (0.9, 0.6, 0.7)[number]
    return [collapse_spaces(text)], 1.0


def _store(path: list[str], confidence: float) -> Converted:
    levels = [level for level in path if level][:_MAX_LEVELS]
    if len(levels) > 1 and levels[0].casefold() in _HOME:
        levels = levels[1:]
    return Converted(levels, confidence) if levels else fail("not_a_category")
