"""Asks `/health` over and over, each time on a new connection, until its input ends; then says how long it took."""

import json
import select
import sys
import time

from tests.api.http.wire import ask, head


def watch(url: str) -> dict[str, object]:
    took_ms: list[float] = []
    failures: list[str] = []
    statuses: dict[str, int] = {}
    while not select.select([sys.stdin], [], [], 0.02)[0]:
        began = time.monotonic()
        try:
            status = json.loads(ask(url, head("GET", "/health", "Connection: close")).body)["status"]
        except (OSError, ValueError, AssertionError) as error:
            failures.append(repr(error)[:100])
            continue
        took_ms.append((time.monotonic() - began) * 1000)
        statuses[status] = statuses.get(status, 0) + 1
    took_ms.sort()
    times = {name: round(took_ms[int(len(took_ms) * part)], 1) for name, part in (("p50", 0.5), ("p99", 0.99))}
    return {"asked": len(took_ms), **times, "max": round(took_ms[-1], 1), "failures": failures, "statuses": statuses}


if __name__ == "__main__":
    sys.stdout.write("watching\n")
    sys.stdout.flush()
    sys.stdout.write(json.dumps(watch(sys.argv[1])))
