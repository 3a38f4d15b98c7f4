"""Ends the process groups it was told of when its pipe closes: `+GROUP` and `-GROUP`, a line each.

The kernel kills our children when their supervisor dies, but not their children.
This process does nothing else, needs nothing but Python, and cannot be interrupted.
"""

import os
import signal
import sys


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        if line.startswith("+"):
            groups.add(int(line[1:]))
        elif line.startswith("-"):
            groups.discard(int(line[1:]))
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError:  # it is gone already
            continue


if __name__ == "__main__":
    main()
