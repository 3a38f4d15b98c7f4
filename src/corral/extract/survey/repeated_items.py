"""Find the repeated items of a page: siblings that are built alike, such as the products of a list."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from corral.extract.page import Page
from corral.extract.selectors.generate import classes_of, selector_for
from corral.extract.selectors.stable_names import rank_name

_MAX_ELEMENTS = 20_000
_MIN_ITEMS = 3
_MAX_GROUPS = 2
_SAMPLE_ITEMS = 10
_NOT_ITEMS = frozenset(
    ("script", "style", "link", "meta", "br", "hr", "option", "path", "td", "th", "col", "source", "-comment")
)
_ELSEWHERE = frozenset({"nav", "header", "footer", "head", "svg", "select", "form"})
_TITLES = ("h2", "h3", "h4", "h1", ".title", ".name")
_MIN_SHARE = 2 / 3

ItemSuggestion = tuple[str, str, str | None, float]  # label, selector, attribute, confidence


@dataclass(frozen=True, slots=True)
class RepeatedItems:
    parent: LexborNode
    tag: str
    name: str | None  # the class they share
    nodes: list[LexborNode]

    def weight(self, page: Page) -> float:
        """Return the weight of the group: many items with text outweigh few items, or many empty ones."""
        sample = self.nodes[:_SAMPLE_ITEMS]
        chars = sum(min(len(page.text_of(node) or ""), 200) for node in sample) / len(sample)
        return min(len(self.nodes), 50) * chars


def find_repeated_items(page: Page, limit: int = _MAX_GROUPS) -> list[tuple[RepeatedItems, str, float]]:
    """Return the groups with the highest weights, each with its selector and confidence."""
    groups = _groups(page)
    # Preselect by count, which is cheap: the weight needs the text of the items.
    groups.sort(key=lambda group: len(group.nodes), reverse=True)
    weighed = sorted(groups[:20], key=lambda group: group.weight(page), reverse=True)
    found = []
    for rank, group in enumerate(weighed[:limit]):
        css = _selector(page, group)
        if css is not None and group.weight(page) > 0:
            found.append((group, css, max(0.1, (0.8 if group.name else 0.6) - 0.2 * rank)))
    return found


def item_suggestions(page: Page) -> Iterator[ItemSuggestion]:
    for group, css, confidence in find_repeated_items(page):
        yield "items", css, None, confidence
        if _have(group, "a[href]"):
            yield "item links", f"{css} a[href]", "href", confidence - 0.05
        title = next((each for each in _TITLES if _have(group, each)), None)
        if title is not None:
            yield "item titles", f"{css} {title}", None, confidence - 0.1
        if _have(group, "[class*=price]"):
            yield "item prices", f"{css} [class*=price]", None, confidence - 0.1


def _groups(page: Page) -> list[RepeatedItems]:
    if page.tree.body is None:
        return []
    groups: dict[tuple[int, str], list[LexborNode]] = {}
    outside: set[int] = set()
    for index, node in enumerate(page.tree.body.traverse(include_text=False)):
        parent, tag = node.parent, str(node.tag)
        if index >= _MAX_ELEMENTS or parent is None:
            continue
        if tag in _ELSEWHERE or parent.mem_id in outside:
            outside.add(node.mem_id)
            continue
        if index > 0 and tag not in _NOT_ITEMS:
            groups.setdefault((parent.mem_id, tag), []).append(node)
    return [_group_of(nodes) for nodes in groups.values() if len(nodes) >= _MIN_ITEMS]


def _group_of(nodes: list[LexborNode]) -> RepeatedItems:
    """Return the nodes that share a class, if enough do: an advertisement between the items has another one."""
    parent, tag = nodes[0].parent, str(nodes[0].tag)
    assert parent is not None
    shared = Counter(name for node in nodes for name in classes_of(node))
    # Prefer the order of classes_of, which has the most specific names first.
    order = {name: index for index, name in enumerate(dict.fromkeys(n for node in nodes for n in classes_of(node)))}
    best = min(shared, key=lambda name: (-shared[name], rank_name(name), order[name]), default=None)
    if best is None or shared[best] < _MIN_ITEMS:
        return RepeatedItems(parent, tag, None, nodes)
    return RepeatedItems(parent, tag, best, [node for node in nodes if best in classes_of(node)])


def _selector(page: Page, group: RepeatedItems) -> str | None:
    """Return a selector by the class of the items, if no other element has it; else below their parent."""
    item = f"{group.tag}.{group.name}" if group.name else group.tag
    if group.name and len(page.tree.css(item)) == len(group.nodes):
        return item
    above = selector_for(page, group.parent)
    return f"{above} > {item}" if above is not None else None


def _have(group: RepeatedItems, css: str) -> bool:
    sample = group.nodes[:_SAMPLE_ITEMS]
    return sum(node.css_first(css) is not None for node in sample) >= _MIN_SHARE * len(sample)
