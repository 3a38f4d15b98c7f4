"""What a crawl asks of a rendered page, and what it gets. Without Playwright: every worker loads this."""

from dataclasses import dataclass

from corral.extract.crawl_page import CrawlReadOptions
from corral.extract.page_reader import ReadAnswer, ReadRequest
from corral.fetch.response import Response


@dataclass(slots=True)
class Rendering:
    """Handed to the renderer with a task of one page, and filled there."""

    url: str
    ask: CrawlReadOptions
    max_scrolls: int
    scroll_s: float  # beside the time for the page itself
    answer: ReadAnswer | None = None
    response: Response | None = None  # the page as it was rendered
    is_cut: bool = False  # there is more, and the bound on scrolling was reached

    def keep(self, chain: tuple[str, ...], request: ReadRequest, answer: ReadAnswer, raw_bytes: int) -> None:
        if not chain and request.url != self.url:
            chain = (self.url,)  # a script led there
        self.answer = answer
        self.response = Response(request.url, request.status, request.headers, request.body, raw_bytes, chain)
