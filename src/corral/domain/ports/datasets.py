"""The ports that a dataset build needs: the store and the fetcher."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from corral.domain.datasets.image import FoundImage, ImageResult, ImageRow, ImageVerdict, NearPair
from corral.domain.ports.execution import Notify, StoreCall, Task
from corral.domain.runs.outcome import Deferred, Failed, Outcome


class DatasetStore(Protocol):
    async def open_build(self, build: str, name: str, run_id: str) -> dict[str, Any]: ...

    async def note_build(self, build: str, progress: Mapping[str, Any]) -> None: ...

    async def add_images(self, build: str, found: Sequence[FoundImage], limit: int | None) -> tuple[int, int]: ...

    async def begin_download(self, build: str, recipes: Sequence[str], *, retries: bool) -> int: ...

    async def step_download(
        self, build: str, results: Sequence[ImageResult], limit: int
    ) -> tuple[list[ImageRow], int, float | None]: ...

    async def count_images(self, build: str) -> list[tuple[str, str, int]]: ...

    async def page_images(self, build: str, after: str, limit: int) -> list[ImageRow]: ...

    async def judge_images(self, build: str, verdicts: Sequence[ImageVerdict]) -> None: ...

    async def add_pairs(self, build: str, pairs: Sequence[NearPair], indexed: Sequence[str]) -> None: ...

    async def forget_pairs(self, build: str) -> None: ...

    async def near_pairs(self, build: str, distance: int) -> list[NearPair]: ...

    async def list_builds(self) -> set[str]: ...


class FetchRules(NamedTuple):
    """How a build requests pages and images."""

    trusted_hosts: frozenset[str] = frozenset()
    respect_robots: bool = True
    respect_noai: bool = True
    max_bytes: int = 20 * 1024 * 1024
    timeout_s: float = 20.0
    concurrency: int = 16


class PageImage(NamedTuple):
    url: str
    caption: str


class ImagePage(NamedTuple):
    """The parts of a page that discovery needs."""

    url: str
    title: str
    images: tuple[PageImage, ...]
    links: tuple[str, ...]
    noai: bool  # it forbids the use of its images for training


class ImageFetcher(Protocol):
    async def fetch_image(self, url: str, rules: FetchRules) -> bytes | Failed | Deferred: ...

    async def read_page(self, url: str, rules: FetchRules) -> ImagePage | Failed | Deferred: ...

    async def fetch_document(self, url: str, rules: FetchRules) -> bytes | Failed | Deferred:
        """Return the answer of a search back end."""
        ...


class DatasetBuilder(Protocol):
    """Executes the steps of a dataset build; `call` reaches the database through the node."""

    async def execute(self, task: Task, call: StoreCall, notify: Notify) -> Outcome: ...
