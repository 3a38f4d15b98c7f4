from hypothesis import given
from hypothesis import strategies as st

from corral.domain.jobs.job import Strategy
from corral.domain.sites.site import Memory, Observation, fields_key, proven


def an_observation(strategy: Strategy, *, succeeded: bool, found: int = 1) -> Observation:
    return Observation(
        "example.org", "k", strategy, succeeded, requested=1, found=found if succeeded else 0, cost_ms=10
    )


def remember(strategy: Strategy, *outcomes: bool) -> Memory:
    memory = Memory("example.org", "k", strategy)
    for succeeded in outcomes:
        memory = memory.after(an_observation(strategy, succeeded=succeeded))
    return memory


def test_two_successes_prove_nothing_and_three_do() -> None:
    assert proven([remember(Strategy.HTTP, True, True)]) is None
    assert proven([remember(Strategy.HTTP, True, True, True)]) is not None


def test_the_cheapest_proven_strategy_is_taken() -> None:
    works = (True,) * 5
    memories = [remember(strategy, *works) for strategy in (Strategy.BROWSER, Strategy.API_REPLAY, Strategy.HTTP)]
    chosen = proven(memories)
    assert chosen is not None
    assert chosen.strategy is Strategy.HTTP
    failing = remember(Strategy.HTTP, *([False] * 5))
    chosen = proven([failing, *memories[:2]])
    assert chosen is not None
    assert chosen.strategy is Strategy.API_REPLAY


def test_a_site_that_changed_is_noticed_after_a_few_runs() -> None:
    memory = remember(Strategy.HTTP, *([True] * 100))
    assert proven([memory]) is not None
    for _ in range(2):
        memory = memory.after(an_observation(Strategy.HTTP, succeeded=False))
    assert proven([memory]) is None


def test_fields_are_remembered_apart_whatever_their_order() -> None:
    assert fields_key(["title", "price"]) == fields_key(["price", "title"])
    assert fields_key(["title"]) != fields_key(["price"])
    assert fields_key(["ab", "c"]) != fields_key(["a", "bc"])


@given(st.lists(st.booleans(), max_size=200))
def test_rates_stay_between_nothing_and_everything(outcomes: list[bool]) -> None:
    memory = remember(Strategy.HTTP, *outcomes)
    assert 0 <= memory.success_rate <= 1
    assert 0 <= memory.yield_rate <= 1
    assert memory.attempts == len(outcomes)


def remember_cost(strategy: Strategy, cost_ms: int, found: int) -> Memory:
    memory = Memory("example.org", "k", strategy)
    for _ in range(5):
        seen = Observation("example.org", "k", strategy, succeeded=True, requested=10, found=found, cost_ms=cost_ms)
        memory = memory.after(seen)
    return memory


def test_auto_chooses_by_cost_and_yield() -> None:
    slow_http, replay = remember_cost(Strategy.HTTP, 900, 10), remember_cost(Strategy.API_REPLAY, 300, 10)
    assert proven([slow_http, replay]) == replay, "the cheaper one"
    poor_replay = remember_cost(Strategy.API_REPLAY, 300, 2)
    assert proven([slow_http, poor_replay]) == slow_http, "cheaper for what it finds"
    browser = remember_cost(Strategy.BROWSER, 300, 10)
    assert proven([slow_http, browser]) == slow_http, "a second in a browser weighs more"
    assert proven([remember_cost(Strategy.HTTP, 9000, 10), browser]) == browser
