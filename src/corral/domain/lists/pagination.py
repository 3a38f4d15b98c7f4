"""How a list continues after its first page: the `pagination` of a list_config."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec

PAGINATION = "pagination"
MAX_STEP = 10_000


class PagingMode(StrEnum):
    AUTO = "auto"  # the first of the others that the page offers
    NEXT = "next"  # the link to the next page
    NUMBERS = "numbers"  # pages with a number in their URL
    LOAD_MORE = "load_more"  # a button that adds items to the page, in the browser
    SCROLL = "scroll"  # items that appear when the page is scrolled, in the browser
    CURSOR = "cursor"  # the API that fills the page in the browser, called again with the next cursor
    NONE = "none"  # the first page only

    @property
    def needs_browser(self) -> bool:
        return self in (PagingMode.LOAD_MORE, PagingMode.SCROLL, PagingMode.CURSOR)

    @property
    def takes_selector(self) -> bool:
        return self in (PagingMode.NEXT, PagingMode.NUMBERS, PagingMode.LOAD_MORE)


@dataclass(frozen=True, slots=True)
class Pagination:
    """The pagination of a list. Without a selector, the links or the button are recognised automatically."""

    mode: PagingMode
    selector: FieldSpec | None = None
    param: str | None = None  # numbers: the query parameter with the page number, if no link shows it
    step: int | None = None  # numbers: the increment from page to page

    @staticmethod
    def of(config: Mapping[str, Any]) -> "Pagination":
        mode = PagingMode(config.get("mode") or PagingMode.NEXT)
        selector = None
        if config.get("css") or config.get("xpath"):
            every = mode is PagingMode.NUMBERS
            selector = link_spec(config, PAGINATION, every=every)
        return Pagination(mode, selector, config.get("param"), config.get("step"))

    @property
    def finds_links(self) -> bool:
        return self.mode in (PagingMode.AUTO, PagingMode.NEXT, PagingMode.NUMBERS)


def link_spec(config: Mapping[str, Any], name: str, *, every: bool) -> FieldSpec:
    """Return the selector of links. `every` is the default of `all`: whether all matches are used."""
    is_all = every if config.get("all") is None else bool(config["all"])
    return FieldSpec(name, config.get("css"), config.get("attr") or "href", is_all, xpath=config.get("xpath"))


def check_pagination(config: Mapping[str, Any], *, strategy: str, field: str) -> None:
    """Raise BadInput for options that exclude each other: an option without effect is refused."""
    mode = PagingMode(config.get("mode") or PagingMode.NEXT)
    has_selector = bool(config.get("css") or config.get("xpath"))
    if has_selector and not mode.takes_selector:
        takers = ", ".join(each for each in PagingMode if each.takes_selector)
        raise BadInput(f"pagination mode {mode} takes no selector", field=field, hint=f"these take one: {takers}")
    for name in ("param", "step"):
        if config.get(name) is not None and mode is not PagingMode.NUMBERS:
            raise BadInput(f"{name} needs pagination mode numbers", field=f"{field}.{name}", hint="leave it out")
    if config.get("step") is not None and config.get("param") is None:
        raise BadInput("step needs the param that it is added to", field=f"{field}.param", hint='"param": "offset"')
    if mode.needs_browser and strategy == "http":
        raise BadInput(
            f"pagination mode {mode} needs a browser, and strategy http has none",
            field=field,
            hint="use strategy auto or browser",
        )
