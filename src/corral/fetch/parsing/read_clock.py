"""The clock of page readers: `extract` is given the time, it does not look at a clock."""

import time
from datetime import UTC, datetime

from corral.extract.read_time import ReadTime


def read_time() -> ReadTime:
    return ReadTime(datetime.now(UTC), time.monotonic())
