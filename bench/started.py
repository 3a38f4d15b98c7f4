"""The services an entry asks for by name, for the length of one measurement."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from bench import pages, services, shop
from bench.dataset import images
from bench.services import Service

STARTERS: dict[str, Callable[[], contextlib.AbstractContextManager[Service]]] = {
    "redis": services.redis,
    "redis-aof": lambda: services.redis(append_only=True),
    "postgres": services.postgres,
    "pages": pages.nginx,
    "site": lambda: pages.nginx(pages.SITE),
    "docs": pages.documentation,
    "shop": shop.demo_shop,
    "images": images.photographs,
}


@contextlib.contextmanager
def running(names: tuple[str, ...]) -> Iterator[dict[str, Service]]:
    """Start the named services, and stop all that started whatever happens."""
    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(STARTERS[name]()) for name in names}
