"""What was held back comes back in the order in which it is likely to be worth it."""

from corral.domain.item import Report
from corral.store.store import Store
from tests.store.test_items import ask, claimed, crawl_of, done, first, url

HELD = "a.test/{n}"


async def test_the_last_that_were_held_back_are_fetched_first(store: Store) -> None:
    lease = await claimed(store, await crawl_of(store))
    [start] = (await first(store, lease)).items
    held = [url(number, 1, "no_new_content")._replace(message=HELD) for number in range(1, 9)]
    await ask(store, lease, Report((done(start, *held, url(50, 1), url(60, 2)),), (), 0))
    traps = {"begins": False, "tallies": {}, "lifts": [["no_new_content", HELD, 3]]}
    step = await ask(store, lease, Report((), (), 10, traps=traps))
    assert step.traps == {"lifted": [3]}
    read = [item.url.rpartition("/")[2] for item in step.items]
    assert read == ["50", "8", "7", "6"], "after the others of their depth, before those of the next"
    step = await ask(store, lease, Report(tuple(map(done, step.items)), (), 10, traps=traps))
    assert [item.url.rpartition("/")[2] for item in step.items] == ["5", "4", "3"]
