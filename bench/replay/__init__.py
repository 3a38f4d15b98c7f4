"""The demo shop by browser and by API replay: the same records, at what speed.

Both sides are Corral: one replays the recipe that a browser run recorded, the other opens the browser again.
"""

from __future__ import annotations

from bench.model import Bench, Entry

ENTRIES = (
    Entry("by API replay", "bench.replay.corral_side:Replay", "corral", 9_600, 960, ("shop",), timeout_s=600),
    Entry("by browser", "bench.replay.corral_side:Browser", "peer", 96, 24, ("shop",), timeout_s=600),
)

BENCH = Bench(
    name="replay",
    title="The demo shop: one record per product page, durable, end to end",
    unit="pages/s",
    entries=ENTRIES,
    aim=100.0,
)
