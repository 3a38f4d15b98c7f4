"""The clock of page readers: `extract` receives the time as an argument and never reads a clock."""

import time
from datetime import UTC, datetime

from corral.extract.read_time import ReadTime


def read_time() -> ReadTime:
    return ReadTime(datetime.now(UTC), time.monotonic())
