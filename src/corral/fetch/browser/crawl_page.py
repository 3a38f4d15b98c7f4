"""The options that a crawl passes to the renderer, and the result.

This module does not import Playwright: every worker loads it.
"""

from dataclasses import dataclass, field

from corral.domain.sites.recipe.search import Call
from corral.extract.crawl_page import CrawlReadOptions
from corral.extract.page_reader import ReadAnswer, ReadRequest
from corral.fetch.response import Response

STEPS, SECONDS, FAILED_CALL = "steps", "seconds", "failed_call"


@dataclass(frozen=True, slots=True)
class ScrollPlan:
    """How to scroll a page. A list is read after each step, which keeps items that later leave the document."""

    max_steps: int = 0
    seconds: float = 0.0  # in addition to the time for the page itself
    is_list: bool = False
    moves: bool = True  # scroll
    presses: bool = True  # press the "load more" button
    css: str | None = None  # selector of that button; without one, the button is recognised by its text
    xpath: str | None = None
    max_items: int | None = None  # stop a list at this many items


@dataclass(slots=True)
class Rendering:
    """Passed to the renderer with the task of one page; the renderer fills in the result."""

    url: str
    read_options: CrawlReadOptions
    scroll: ScrollPlan
    answer: ReadAnswer | None = None
    response: Response | None = None  # the rendered page
    wants_calls: bool = False  # record the JSON calls of the page instead of deriving a recipe for its fields
    calls: list[Call] = field(default_factory=list)
    cut_by: str | None = None  # the limit that stopped loading before the end: STEPS, SECONDS or FAILED_CALL
    failed_call: str = ""  # the call that failed, and its error

    def set_result(self, chain: tuple[str, ...], request: ReadRequest, answer: ReadAnswer, raw_bytes: int) -> None:
        if not chain and request.url != self.url:
            chain = (self.url,)  # a script navigated there
        self.answer = answer
        self.response = Response(request.url, request.status, request.headers, request.body, raw_bytes, chain)
