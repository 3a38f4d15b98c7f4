"""The API call that fills a list in the browser, and the request for its next page. Pure: fetches nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from corral.domain.json_path import display_text
from corral.domain.sites.recipe.recipe import HEADERS, ReplayRequest
from corral.domain.sites.recipe.search import Call

JsonPath = tuple[str | int, ...]
_MAX_LEAVES = 20_000
_MAX_DEPTH = 12
_MIN_SHARE = 0.8  # of the array elements must be linked from the page
_COUNTING = frozenset({"page", "pageno", "pagenumber", "pageindex", "currentpage", "p", "pagenum"})
_OFFSETS = frozenset({"offset", "skip", "start", "from", "startindex", "begin"})


class Advance(StrEnum):
    ADDRESS = "address"  # the answer contains the address of the next call
    CURSOR = "cursor"  # a value of the answer goes into the next request
    LAST = "last"  # a value of the last element goes into the next request
    COUNT = "count"  # a number in the request increases


@dataclass(frozen=True, slots=True)
class LinkTemplate:
    """The link of an item: prefix text, the path of a value in its element, suffix text."""

    before: str
    path: JsonPath
    after: str

    def link_of(self, element: Any) -> str | None:
        text = display_text(_at(element, self.path))
        return None if text is None or text == "" else f"{self.before}{text}{self.after}"


@dataclass(frozen=True, slots=True)
class ListCall:
    items: JsonPath  # path of the array in the answer
    link: LinkTemplate
    advance: Advance
    slot: JsonPath = ()  # location in the request: ("?", name) is a parameter, ("body", …) a path in the body
    source: JsonPath = ()  # path in the answer, or in its last element
    step: int = 0

    def read_links(self, answer: Any) -> list[str] | None:
        """Return the links of the items; None if the answer has a different shape."""
        array = _at(answer, self.items)
        if not isinstance(array, list):
            return None
        links = [link for each in array if (link := self.link.link_of(each)) is not None]
        return None if array and not links else links

    def next_request(self, request: ReplayRequest, answer: Any) -> ReplayRequest | None:
        """Return the request of the next page; None at the end of the list."""
        if self.advance is Advance.COUNT:
            value = _number(_slot_value(request, self.slot))
            return None if value is None else _with_slot(request, self.slot, value + self.step)
        if self.advance is Advance.LAST:
            array = _at(answer, self.items)
            value = _at(array[-1], self.source) if isinstance(array, list) and array else None
        else:
            value = _at(answer, self.source)
        text = display_text(value)
        if text is None or text == "" or isinstance(value, bool):
            return None
        if self.advance is Advance.ADDRESS:
            return replace(request, url=urljoin(request.url, text))
        return _with_slot(request, self.slot, value)


def request_of(call: Call) -> ReplayRequest:
    headers = {name.lower(): value for name, value in call.headers.items() if name.lower() in HEADERS}
    return ReplayRequest(call.method, call.url, headers, call.body)


def derive_list_call(calls: Sequence[Call], links: Sequence[str]) -> tuple[ListCall, Call, int] | None:
    """Return the list call, its latest instance and how many the page made; None if no call fills the list."""
    wanted = frozenset(links)
    groups: dict[tuple[str, str], list[Call]] = {}
    for call in calls:
        groups.setdefault((call.method, call.url.partition("?")[0]), []).append(call)
    for group in sorted(groups.values(), key=len, reverse=True):
        filling = [(call, array) for call in group if (array := _find_items(call.answer, wanted)) is not None]
        if not filling:
            continue
        last, (items, link) = filling[-1]
        template = ListCall(items, link, Advance.COUNT)
        advance = _find_advance([call for call, _ in filling], template)
        if advance is not None:
            return advance, last, len(filling)
    return None


# -- find the array of items --------------------------------------------------------------------------------


def _find_items(answer: Any, wanted: frozenset[str]) -> tuple[JsonPath, LinkTemplate] | None:
    candidates = []
    for path, array in _arrays(answer):
        if array and (template := _find_template(array, wanted)) is not None:
            candidates.append((len(array), path, template))
    best = max(candidates, key=lambda each: (each[0], -len(each[1])), default=None)
    return None if best is None else (best[1], best[2])


def _find_template(array: Sequence[Any], wanted: frozenset[str]) -> LinkTemplate | None:
    leaves = sorted(_leaves(array[0]), key=lambda leaf: -len(leaf[1]))[:100]
    for path, text in leaves:
        for link in wanted:
            at = link.rfind(text)
            while at >= 0:
                template = LinkTemplate(link[:at], path, link[at + len(text) :])
                links = [template.link_of(each) for each in array]
                if _is_boundary(link, at, len(text)) and _fits(links, wanted):
                    return template
                at = link.rfind(text, 0, at)
    return None


def _fits(links: Sequence[str | None], wanted: frozenset[str]) -> bool:
    has_all = sum(each in wanted for each in links) >= _MIN_SHARE * len(links)
    return has_all and len(set(links)) >= _MIN_SHARE * len(links)


def _is_boundary(link: str, at: int, length: int) -> bool:
    """True if the value is a whole word of the address: the 1 of `/item/1` is not the 1 of `/item/12`."""
    before, after = link[at - 1 : at], link[at + length : at + length + 1]
    return not (before.isalnum() and link[at].isalnum()) and not (after.isalnum() and link[at + length - 1].isalnum())


# -- derive the request for the next page -------------------------------------------------------------------


def _find_advance(calls: Sequence[Call], list_call: ListCall) -> ListCall | None:
    if len(calls) < 2:
        return _guess_advance(calls[0], list_call)
    before, after = calls[-2], calls[-1]
    source = next((path for path, text in _leaves(before.answer) if _is_address(text, before.url, after.url)), None)
    if source is not None:
        return replace(list_call, advance=Advance.ADDRESS, source=source)
    for slot in _differing_slots(before, after):
        advance = _explain_slot(slot, before, after, list_call)
        if advance is not None:
            return advance
    return None


def _explain_slot(slot: JsonPath, before: Call, after: Call, list_call: ListCall) -> ListCall | None:
    old, new = _slot_value(request_of(before), slot), _slot_value(request_of(after), slot)
    text = display_text(new)
    if text is None:
        return None
    first, second = _number(old), _number(new)
    if second is not None and (first is not None or old is None):
        start = first if first is not None else 0
        step = second - start if first is not None else _first_step(slot, second)
        if step > 0:
            return replace(list_call, advance=Advance.COUNT, slot=slot, step=step)
    inside = len(list_call.items)
    for path, value in _leaves(before.answer):
        if value == text and path[:inside] != list_call.items:
            return replace(list_call, advance=Advance.CURSOR, slot=slot, source=path)
    array = _at(before.answer, list_call.items)
    if isinstance(array, list) and array:
        source = next((path for path, value in _leaves(array[-1]) if value == text), None)
        return None if source is None else replace(list_call, advance=Advance.LAST, slot=slot, source=source)
    return None


def _first_step(slot: JsonPath, second: int) -> int:
    """Return the step of a number that the first request omits: page 2 follows page 1, offset 20 follows 0."""
    return 1 if _plain(slot[-1]) in _COUNTING else second


def _guess_advance(call: Call, list_call: ListCall) -> ListCall | None:
    """Guess from one call: the next address in its answer, or a page number or offset in its request."""
    path = urlsplit(call.url).path
    for source, text in _leaves(call.answer):
        is_next = any("next" in _plain(step) for step in source)
        if is_next and "/" in text and urlsplit(urljoin(call.url, text)).path == path:
            return replace(list_call, advance=Advance.ADDRESS, source=source)
    array = _at(call.answer, list_call.items)
    for slot, value in _slots(call):
        name, number = _plain(slot[-1]), _number(value)
        if number is not None and name in _COUNTING:
            return replace(list_call, advance=Advance.COUNT, slot=slot, step=1)
        if number is not None and name in _OFFSETS and isinstance(array, list) and array:
            return replace(list_call, advance=Advance.COUNT, slot=slot, step=len(array))
    return None


def _is_address(text: str, base: str, url: str) -> bool:
    return ("/" in text or "?" in text) and urljoin(base, text) == url


def _differing_slots(before: Call, after: Call) -> Iterator[JsonPath]:
    old = dict(_slots(before))
    for slot, value in _slots(after):
        if old.get(slot) != value:
            yield slot


def _slots(call: Call) -> Iterator[tuple[JsonPath, Any]]:
    for name, value in parse_qsl(urlsplit(call.url).query, keep_blank_values=True):
        yield ("?", name), value
    for path, _ in _leaves(call.body):
        yield ("body", *path), _at(call.body, path)


def _slot_value(request: ReplayRequest, slot: JsonPath) -> Any:
    if slot[0] == "?":
        return dict(parse_qsl(urlsplit(request.url).query, keep_blank_values=True)).get(str(slot[1]))
    return _at(request.body, slot[1:])


def _with_slot(request: ReplayRequest, slot: JsonPath, value: Any) -> ReplayRequest:
    if slot[0] == "?":
        parts = urlsplit(request.url)
        pairs = dict(parse_qsl(parts.query, keep_blank_values=True)) | {str(slot[1]): display_text(value) or ""}
        return replace(request, url=urlunsplit(parts._replace(query=urlencode(pairs))))
    return replace(request, body=_put(request.body, slot[1:], value))


def _put(document: Any, path: JsonPath, value: Any) -> Any:
    if not path:
        return str(value) if isinstance(document, str) else value
    head, rest = path[0], path[1:]
    if isinstance(document, list) and isinstance(head, int):
        return [_put(each, rest, value) if at == head else each for at, each in enumerate(document)]
    inside: Mapping[str, Any] = document if isinstance(document, dict) else {}
    return {**inside, str(head): _put(inside.get(str(head)), rest, value)}


# -- values of a JSON document ------------------------------------------------------------------------------


def _at(document: Any, path: JsonPath) -> Any:
    for step in path:
        is_there = (isinstance(document, dict) and step in document) or (
            isinstance(document, list) and isinstance(step, int) and step < len(document)
        )
        if not is_there:
            return None
        document = document[step]
    return document


def _leaves(document: Any) -> list[tuple[JsonPath, str]]:
    """Return the texts of all values, in document order."""
    return [
        (path, text)
        for path, value in _walk(document)
        if not isinstance(value, dict | list | bool) and (text := display_text(value))
    ]


def _arrays(document: Any) -> list[tuple[JsonPath, list[Any]]]:
    return [(path, value) for path, value in _walk(document) if isinstance(value, list)]


def _walk(document: Any) -> Iterator[tuple[JsonPath, Any]]:
    waiting: list[tuple[JsonPath, Any]] = [((), document)]
    for _ in range(_MAX_LEAVES):
        if not waiting:
            return
        path, value = waiting.pop(0)
        yield path, value
        if len(path) < _MAX_DEPTH and isinstance(value, dict):
            waiting += [((*path, name), each) for name, each in value.items()]
        elif len(path) < _MAX_DEPTH and isinstance(value, list):
            waiting += [((*path, at), each) for at, each in enumerate(value)]


def _number(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10 else None


def _plain(step: str | int) -> str:
    return "".join(each for each in str(step).lower() if each.isalnum())
