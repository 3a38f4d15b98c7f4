"""Which benchmarks there are. A benchmark is a package or module here with a `BENCH`."""

from __future__ import annotations

import importlib

from bench.model import Bench

MODULES = {
    name: f"bench.{name}"
    for name in (
        "runs",
        "fetch",
        "browser",
        "replay",
        "crawl",
        "docs",
        "distributed",
        "idle",
        "readable",
        "reading",
        "extract",
        "queue",
        "proxies",
        "scripts",
        "workflow",
        "dataset",
    )
}


def load(name: str) -> Bench:
    """The benchmark of that name."""
    bench = importlib.import_module(MODULES[name]).BENCH
    assert isinstance(bench, Bench)
    return bench
