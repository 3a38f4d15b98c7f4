"""What Corral costs an ordinary scraper: the same scripts, started by hand and executed as runs behind the proxy.

The scripts are the samples of the tests: requests, httpx, aiohttp, Scrapy, Crawlee, Playwright, curl and Node, each
with three requests to a local site that answers after 20 ms. Starts alternate, so that both sides meet the same load;
medians are compared.
"""

from __future__ import annotations

from bench.model import Bench, Entry, Metric
from bench.scripts.sides import SAMPLES

ENTRIES = (
    Entry("corral", "bench.scripts.sides:Corral", "corral", 5, 1, timeout_s=900),
    Entry("by hand", "bench.scripts.sides:ByHand", "yardstick", 5, 1, timeout_s=600),
)

BENCH = Bench(
    name="scripts",
    title="Eight scrapers with their own libraries, each with three requests",
    unit="scripts/s",
    entries=ENTRIES,
    metrics=(
        Metric("overhead_percent", "overhead over all eight, %"),
        Metric("overhead_ms", "overhead per script, ms"),
        *(Metric(name, f"{name}: overhead, %") for name in SAMPLES),
    ),
)
