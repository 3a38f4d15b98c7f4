"""What a crawl passes to the renderer and gets back. Does not import Playwright: every worker loads this module."""

from dataclasses import dataclass, field

from corral.domain.sites.recipe.search import Call
from corral.extract.crawl_page import CrawlReadOptions
from corral.extract.page_reader import ReadAnswer, ReadRequest
from corral.fetch.response import Response

STEPS, SECONDS, FAILED_CALL = "steps", "seconds", "failed_call"


@dataclass(frozen=True, slots=True)
class ScrollPlan:
    """How a page is scrolled. Of a list, each step is read, and its items are kept when they leave the document."""

    max_steps: int = 0
    seconds: float = 0.0  # in addition to the time for the page itself
    is_list: bool = False
    moves: bool = True  # scroll
    presses: bool = True  # press the button that brings more
    css: str | None = None  # of that button; recognised by its text where neither is given
    xpath: str | None = None
    max_items: int | None = None  # of a list: enough items end it


@dataclass(slots=True)
class Rendering:
    """Passed to the renderer with the task of one page; the renderer fills in the result."""

    url: str
    ask: CrawlReadOptions
    scroll: ScrollPlan
    answer: ReadAnswer | None = None
    response: Response | None = None  # the rendered page
    wants_calls: bool = False  # the JSON calls of the page are wanted, and no recipe of its fields
    calls: list[Call] = field(default_factory=list)
    cut_by: str | None = None  # the page has more than was brought: STEPS, SECONDS or FAILED_CALL
    failed_call: str = ""  # which call failed, and how

    def keep(self, chain: tuple[str, ...], request: ReadRequest, answer: ReadAnswer, raw_bytes: int) -> None:
        if not chain and request.url != self.url:
            chain = (self.url,)  # a script navigated there
        self.answer = answer
        self.response = Response(request.url, request.status, request.headers, request.body, raw_bytes, chain)
