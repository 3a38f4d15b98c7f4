"""One of several processes that claim from the same database until nothing is left; prints what it got."""

import asyncio
import json
import sys

from corral.runtime.new_ids import new_owner
from corral.store.open import open_store
from tests.store.builders import complete


async def race(url: str, batch: int) -> list[tuple[str, int]]:
    store = open_store(url)
    owner = new_owner()
    claimed: list[tuple[str, int]] = []
    # Begin together: a line on standard input is the starting shot.
    print("ready", flush=True)  # noqa: T201
    await asyncio.to_thread(sys.stdin.readline)
    while leases := await store.runs.claim(owner, batch, 60):
        claimed += [lease.key for lease in leases]
        assert all(await store.runs.settle_all([complete(lease, [{"by": owner}]) for lease in leases]))
        await store.runs.reap()
    await store.close()
    return claimed


if __name__ == "__main__":
    print(json.dumps(asyncio.run(race(sys.argv[1], int(sys.argv[2])))))  # noqa: T201
