"""What a crawl passes to the renderer and gets back. Does not import Playwright: every worker loads this module."""

from dataclasses import dataclass

from corral.extract.crawl_page import CrawlReadOptions
from corral.extract.page_reader import ReadAnswer, ReadRequest
from corral.fetch.response import Response


@dataclass(slots=True)
class Rendering:
    """Passed to the renderer with the task of one page; the renderer fills in the result."""

    url: str
    ask: CrawlReadOptions
    max_scrolls: int
    scroll_s: float  # in addition to the time for the page itself
    answer: ReadAnswer | None = None
    response: Response | None = None  # the rendered page
    is_cut: bool = False  # the scrolling limit was reached and the page has more

    def keep(self, chain: tuple[str, ...], request: ReadRequest, answer: ReadAnswer, raw_bytes: int) -> None:
        if not chain and request.url != self.url:
            chain = (self.url,)  # a script navigated there
        self.answer = answer
        self.response = Response(request.url, request.status, request.headers, request.body, raw_bytes, chain)
