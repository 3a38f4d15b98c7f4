"""The context that the steps of one build share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corral.datasets.called_store import BuildStore
from corral.datasets.packs import PackFolder
from corral.domain.datasets.config import DatasetConfig
from corral.domain.ports.datasets import FetchRules, ImageFetcher
from corral.images.pool import ImagePool


@dataclass(slots=True)
class BuildContext:
    config: DatasetConfig
    store: BuildStore
    packs: PackFolder
    fetcher: ImageFetcher
    pool: ImagePool
    run_id: str
    root: Path  # relative paths of the configuration start here
    trusted_hosts: frozenset[str]
    progress: dict[str, Any]  # of the build, over all its runs
    report: Callable[[int, int], None] = lambda _done, _total: None  # called with the done and total images of the step
    notes: dict[str, int] = field(default_factory=dict)  # omissions of the discovery, counted by reason
    details: dict[str, Any] = field(default_factory=dict)  # measurements of steps

    @property
    def output(self) -> Path:
        return self.root / self.config.options.output_dir

    @property
    def rules(self) -> FetchRules:
        options = self.config.options
        return FetchRules(
            self.trusted_hosts,
            options.respect_robots,
            options.respect_noai,
            options.max_bytes,
            options.timeout_s,
            options.concurrency,
        )

    def count(self, reason: str, times: int = 1) -> None:
        if times:
            self.notes[reason] = self.notes.get(reason, 0) + times
