"""Look up the methods of a path, for the `Allow` header of a 405 and to refuse requests without reading a body."""

import re
from collections.abc import Iterable

from starlette.routing import BaseRoute, Mount, Route

_READS = frozenset({"GET", "HEAD"})


class MethodTable:
    def __init__(self) -> None:
        self._methods: dict[re.Pattern[str], set[str]] = {}

    def add(self, routes: Iterable[BaseRoute]) -> None:
        for route in routes:
            if isinstance(route, Route):
                methods = set(route.methods or ())
                self._of(route.path_regex).update(methods | (_READS if "GET" in methods else set()))
            elif isinstance(route, Mount):
                self._of(route.path_regex).update(_READS)

    def _of(self, pattern: re.Pattern[str]) -> set[str]:
        return self._methods.setdefault(pattern, set())

    def methods_of(self, path: str) -> list[str]:
        """Return the methods of all routes with this path; empty if there is none."""
        return sorted(
            {method for pattern, methods in self._methods.items() if pattern.match(path) for method in methods}
        )
