"""A dataset build in this process: a real store, real requests and real decoders, without a node."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import orjson

from corral.datasets.executor import DatasetRunner
from corral.domain.datasets.options import ImageRecipe
from corral.domain.datasets.payload import DatasetPayload
from corral.domain.net.address import EgressPolicy
from corral.domain.ports.datasets import ImageFetcher
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Failed, Fetched
from corral.domain.runs.payload.stored import Payload
from corral.engine.node.dataset_calls import DatasetCalls
from corral.fetch.egress.client import Egress
from corral.fetch.images import EgressImageFetcher
from corral.fetch.limits import FetchLimits
from corral.fetch.parsing.pool import InProcessReader
from corral.fetch.robots import Robots
from corral.images.messages import DecoderLimits
from corral.images.pool import ImagePool, ProcessedImage
from corral.store.open import open_store
from corral.store.store import Store
from tests.services.sqlite import migrate


@dataclass
class Builder:
    folder: Path
    store: Store
    runner: DatasetRunner
    pool: "CountingPool"
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # of the store, with their arguments
    progress: list[dict[str, Any]] = field(default_factory=list)

    async def build(self, config: dict[str, Any], run_id: str = "run", **more: Any) -> Fetched | Failed:
        trusted = tuple(
            url.split("/")[2]
            for source in config["sources"]
            for url in (*source.get("urls", ()), source.get("url"))
            if url
        )
        more = {"trusted_hosts": trusted, "may_execute": True, **more}
        payload = DatasetPayload(config, str(self.folder), **more)
        task = Task(run_id, 1, "dataset", "http", 1, Payload.of(payload), 60.0)
        outcome = await self.runner.execute(task, self._call, self.progress.append)
        assert isinstance(outcome, Fetched | Failed)
        return outcome

    async def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        """As the messages between worker and node carry it."""
        given = orjson.loads(orjson.dumps(arguments))
        self.calls.append((name, given))
        value = await DatasetCalls(self.store.datasets).by_name()[name](**given)
        return msgspec.json.decode(msgspec.json.encode(value))


class CountingPool(ImagePool):
    decoded = 0

    async def process(self, bodies: Sequence[bytes], recipe: ImageRecipe) -> list[ProcessedImage]:
        self.decoded += len(bodies)
        return await super().process(bodies, recipe)


@asynccontextmanager
async def open_builder(
    folder: Path, fetch_by: Callable[[ImageFetcher], ImageFetcher] = lambda fetcher: fetcher, url: str = ""
) -> AsyncIterator[Builder]:
    folder.mkdir(exist_ok=True)
    store = await asyncio.to_thread(open_store, url or f"sqlite:///{migrate(folder / 'corral.db')}")
    egress = Egress(EgressPolicy(()), FetchLimits(), "corral/1.0")
    pool = CountingPool(DecoderLimits(processes=1))
    fetcher = EgressImageFetcher(egress, Robots(egress, "corral/1.0"), InProcessReader())
    try:
        yield Builder(folder, store, DatasetRunner(fetch_by(fetcher), pool, folder / "packs"), pool)
    finally:
        await pool.close()
        await egress.close()
        await store.close()
