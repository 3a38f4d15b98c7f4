from collections.abc import Iterator

import pytest

from tests.shape.files import functions, parse, without_collector


@pytest.fixture(scope="package", autouse=True)
def _syntax_trees() -> Iterator[None]:
    """The trees of all files are in memory for the tests of this folder only: the collector would visit them often."""
    with without_collector():
        yield
        functions.cache_clear()
        parse.cache_clear()
