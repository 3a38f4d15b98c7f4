"""Collect the calls of a page that failed while it loaded more content."""

from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Request, Response

from corral.fetch.browser.faults import net_error_of

_SCRIPTED = frozenset({"xhr", "fetch"})
_MAX_ENDPOINTS = 200
_REFUSED = frozenset({401, 403, 408, 425, 429})  # and 5xx; some APIs end a list with another status, such as 404
_DELIBERATE = frozenset({"ABORTED", "BLOCKED_BY_CLIENT"})  # cancelled by the page, or by us


class FailedCalls:
    """Failed calls to the page's host, or to an address that answered before: both may carry its data."""

    def __init__(self) -> None:
        self._answered: set[str] = set()
        self._failed: dict[str, str] = {}

    def add(self, answer: Response) -> None:
        if (endpoint := _endpoint_of(answer.request)) is None:
            return
        if answer.status >= 500 or answer.status in _REFUSED:
            self._note(answer.request, endpoint, f"answered {answer.status}")
        elif len(self._answered) < _MAX_ENDPOINTS:
            self._answered.add(endpoint)

    def add_error(self, request: Request) -> None:
        error = net_error_of(request.failure or "") or "FAILED"
        if error not in _DELIBERATE and (endpoint := _endpoint_of(request)) is not None:
            self._note(request, endpoint, f"failed ({error})")

    def take(self) -> dict[str, str]:
        """Return the calls that failed since the last call of this method, by endpoint."""
        failed, self._failed = self._failed, {}
        return failed

    def _note(self, request: Request, endpoint: str, what: str) -> None:
        is_own = endpoint in self._answered or _is_of_page(request)
        if is_own and len(self._failed) < _MAX_ENDPOINTS:
            self._failed[endpoint] = f"{endpoint} {what}"


def _endpoint_of(request: Request) -> str | None:
    if request.resource_type not in _SCRIPTED:
        return None
    parts = urlsplit(request.url)
    return f"{request.method} {parts.netloc}{parts.path}"[:300]


def _is_of_page(request: Request) -> bool:
    try:
        return urlsplit(request.url).hostname == urlsplit(request.frame.url).hostname
    except (PlaywrightError, ValueError):  # the frame is gone
        return False
