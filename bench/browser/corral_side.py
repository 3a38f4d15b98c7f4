"""Corral by browser on the demo shop: durable runs, each in a fresh context."""

from __future__ import annotations

from bench.replay.corral_side import Browser


class Pages(Browser):
    name = "corral browser"
