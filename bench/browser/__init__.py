"""The demo shop in a browser: Corral beside Crawlee's Playwright crawler, the same Chromium, the same pages.

Both wait until the price stands on the page, which a script puts there, and take name and price.
"""

from __future__ import annotations

from bench.model import Bench, Entry

ENTRIES = (
    Entry("corral browser", "bench.browser.corral_side:Pages", "corral", 240, 24, ("shop",), timeout_s=600),
    Entry("crawlee playwright", "bench.browser.crawlee_side:Crawlee", "peer", 96, 24, ("shop",), timeout_s=600),
)

BENCH = Bench(
    name="browser",
    title="Pages rendered by a script, in a browser",
    unit="pages/s",
    entries=ENTRIES,
    aim=3.0,
)
