"""How hard to hit: CORRAL_CHAOS unset, `long` or `soak`."""

import os
import random

LEVEL = os.environ.get("CORRAL_CHAOS", "")
SEED = int(os.environ.get("CORRAL_CHAOS_SEED", "0")) or random.randrange(1, 10**9)


def by_level(short: int, long: int, soak: int | None = None) -> int:
    return {"": short, "long": long, "soak": long if soak is None else soak}[LEVEL]


def make_random() -> random.Random:
    """Random choices that can be had again with CORRAL_CHAOS_SEED."""
    return random.Random(SEED)
