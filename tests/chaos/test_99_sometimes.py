"""The suite was not too tame: what it must have met, it has met."""

import pytest

from tests.chaos.seen import ALL, seen

# The tests that are bound to meet them; with one of them left out nothing can be said.
_NEEDED = ("test_03_zombies", "test_16_races")


def test_everything_worth_seeing_was_seen(request: pytest.FixtureRequest) -> None:
    collected = {item.path.stem for item in request.session.items}
    if not collected.issuperset(_NEEDED):
        pytest.skip("only a part of the suite was run")
    assert set(ALL) <= seen(), f"never seen: {sorted(set(ALL) - seen())}"
