"""Leave tests to the long versions."""

from collections.abc import Callable

import pytest

from tests.chaos.level import LEVEL


def deselect(config: pytest.Config, items: list[pytest.Item], is_spared: Callable[[pytest.Item], bool]) -> None:
    """Remove the tests that `make test` spares; the long versions run all."""
    spared = {item for item in items if not LEVEL and is_spared(item)}
    if spared:
        config.hook.pytest_deselected(items=spared)
        items[:] = [item for item in items if item not in spared]
