"""The items that the pages of a list have named so far: which are new, and whether a page repeats earlier ones."""

from collections.abc import Iterable

_MAX_KEYS = 1_000_000


class ListProgress:
    """The progress in the memory of a worker. After a restart, one more page is read at the end of a list."""

    def __init__(self) -> None:
        self._first_page: dict[str, int] = {}  # by key of an item, the item id of the list page that named it first

    def find_new(self, page_id: int, keys: Iterable[str]) -> list[str]:
        """Return the keys that no other page named. The same page may be read again, in the browser for example."""
        new = [key for key in keys if self._first_page.setdefault(key, page_id) == page_id]
        while len(self._first_page) > _MAX_KEYS:
            del self._first_page[next(iter(self._first_page))]
        return new
