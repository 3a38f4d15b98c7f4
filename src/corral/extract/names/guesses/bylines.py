"""Guess authors and dates of a text, by class names and the words around them."""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from corral.extract.names.guesses.elements import NOTHING, Guess, PageElements, describe
from corral.extract.names.guesses.zones import marks_of
from corral.extract.names.words.dates import find_date
from corral.extract.names.words.people import begins_with_by, is_spoken_name, names_in_byline

_MAX_BYLINE_CHARS = 200
_BYLINES = (
    'a[rel~="author"]',
    ".author .fn, .byline .fn, .post-author .fn, .author.vcard .fn",
    ".byline a[href*='author'], .byline .author, .byline__name, .byline-name, .author-name, .author__name,"
    " .authorName, .article-author-name",
    ".post-author, .entry-author, .article-author, .article__author, .c-byline__author, .author-link, .authors a,"
    " .contributor, .post-meta .author, .entry-meta .author",
    ".byline, .article-byline, .post-byline, .c-byline, .author, .authors, #author, #byline, [class*='byline'],"
    " [class*='Byline']",
    "[data-author], [class*='author-name'], [class*='authorname'], [class*='AuthorName'], .username, .autor,"
    " .auteur, .autore, .forfatter",
)
_DATES = (
    "time[pubdate], time.published, time.entry-date, time.dt-published, .published time, .entry-date time,"
    " .post-date time, .date time",
    "article header time, article time, main time, .post time, .entry time, header time, time",
    ".published, .entry-date, .post-date, .pub-date, .pubdate, .publish-date, .published-date, .article-date,"
    " .date-published, .article__date, .dateline, .timestamp, .posted-on, .postdate, .date, .datum, .fecha, .data,"
    " #date, #pubdate",
    "[class*='publish'], [class*='pubdate'], [class*='post-date'], [class*='PostDate'], [class*='article-date'],"
    " [class*='entry-date'], .byline, .meta, .post-meta, .entry-meta, .article-meta, .article-info, .submitted,"
    " .info",
)
_MODIFIED = re.compile(
    r"(?:zuletzt\s+am|(?:was|wurde)\s+last\s+edited|last\s+(?:updated|modified|edited|changed|reviewed)|updated"
    r"|modified|zuletzt\s+(?:aktualisiert|geändert"
    r"|bearbeitet)|aktualisiert|letzte\s+änderung|stand|mis(?:e)?\s+à\s+jour|dernière\s+(?:mise\s+à\s+jour"
    r"|modification)"
    r"|actualizad[oa]|última\s+(?:actualización|modificación|edición)|aggiornat[oa]|ultim[oa]\s+(?:aggiornamento"
    r"|modifica)|atualizad[oa]|última\s+(?:atualização|modificação)|laatst\s+(?:bijgewerkt|gewijzigd)|bijgewerkt"
    r"|senast\s+(?:uppdaterad|ändrad)|uppdaterad"
    r"|sidst\s+(?:opdateret|ændret)|opdateret|sist\s+oppdatert|oppdatert|päivitetty|ostatnia\s+(?:aktualizacja"
    r"|modyfikacja)|zaktualizowano|(?:naposledy\s+)?aktualizováno|naposledy\s+(?:upraveno|změněno)|frissítve"
    r"|utolsó\s+(?:frissítés|módosítás)|обновлено|последнее\s+(?:обновление|изменение)|оновлено|güncelle(?:ndi|me"
    r"|nme)(?:\s+tarihi)?|آخر\s+تحديث|最終更新日?|更新日?|更新时间|最后更新|更新時間|업데이트|(?:최종\s*)?수정"
    r"|עודכן|последно\s+обновяване|ažurirano|aktualizované|cập\s+nhật|diperbarui|última\s+modificação)"
    r"(?:\s+(?:on|am|le|el|il|em|op|den|d\.|dne|on:|date))?\s*[:：]?\s*",
    re.IGNORECASE,
)


def guess_author(elements: PageElements) -> Guess:
    for selector in _BYLINES:
        names: list[str] = []
        first: LexborNode | None = None
        for node in elements.visible(selector):
            text = node.attributes.get("data-author") or elements.page.text_of(node) or ""
            if not text or len(text) > _MAX_BYLINE_CHARS or (first is None and elements.is_in_list(node)):
                continue
            # The authors of one text are close together; a distant byline belongs to another text.
            if first is not None and not _are_close(first, node):
                break
            found = names_in_byline(text)
            first = first or (node if found else None)
            names += [name for name in found if name not in names]
        if names:
            return names, f"class:{describe(selector, first)}"
    return _author_in_text(elements)


def _author_in_text(elements: PageElements) -> Guess:
    """Find a line near the heading that begins with `By`."""
    for text in elements.texts_after_heading(25):
        if len(text) <= 90 and begins_with_by(text):
            names = names_in_byline(text)
            if names and all(is_spoken_name(name) and len(name) > 2 for name in names):
                return names, "byline"
    return NOTHING


def guess_date(elements: PageElements) -> Guess:
    for selector in _DATES:
        for node in elements.visible(selector):
            value = _date_of(elements, node)
            if value and not elements.is_in_list(node):
                return [value], describe(selector, node)
    for text in elements.texts_after_heading(30):
        found = find_date(_MODIFIED.split(text, 1)[0]) if len(text) <= 120 else None
        if found:
            return [found], "text"
    return NOTHING


def _date_of(elements: PageElements, node: LexborNode) -> str | None:
    text = elements.page.text_of(node) or ""
    attributes = node.attributes
    if _MODIFIED.match(text) or re.search(r"updated|modified", attributes.get("class") or ""):
        return None
    if attributes.get("datetime"):
        return attributes["datetime"]
    named = find_date(attributes.get("title") or "") if node.tag in ("abbr", "time", "span") else None
    if named:
        return attributes["title"] if node.tag == "abbr" else named
    found = find_date(text) if len(text) <= 300 else None
    is_short = node.tag == "time" and 4 <= len(text) <= 40 and any(map(str.isdigit, text))
    return found or (text if is_short else None)


def guess_modified(elements: PageElements) -> Guess:
    for node in elements.page.tree.css(
        "time.updated, time.modified, .updated time, .modified time, .last-updated time, time[itemprop='dateModified']"
    )[:5]:
        value = node.attributes.get("datetime") or elements.page.text_of(node)
        if value:
            return [value], "time"
    for node in elements.page.tree.css("p, div, span, li, footer, td, time, small, em, i, address")[:5_000]:
        own = node.text(deep=True, separator=" ") if len(list(node.iter())) <= 4 else ""
        match = _MODIFIED.search(own[:200]) if 8 < len(own) <= 250 else None
        if match is not None:
            stamp = node.css_first("time[datetime]")
            value = (
                stamp.attributes.get("datetime")
                if stamp is not None
                else find_date(own[match.end() : match.end() + 60])
            )
            if value:
                return [value], "text"
    return NOTHING


def _are_close(first: LexborNode, node: LexborNode) -> bool:
    """Return whether both nodes are in the same small part of the page."""
    return bool({each.mem_id for each in _holders(first)} & {each.mem_id for each in _holders(node)})


_POST = re.compile(r"(?:^|[\s_-])(?:post|comment|message|reply|postbit|entry|item|answer)(?:$|[\s_-])", re.IGNORECASE)


def _holders(node: LexborNode) -> Iterator[LexborNode]:
    above = node.parent
    for _ in range(3):
        if above is None or above.tag in ("body", "main", "article", "html") or _POST.search(marks_of(above)):
            return
        yield above
        above = above.parent
