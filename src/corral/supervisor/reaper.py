"""End the registered process groups when the input pipe closes. Input: `+GROUP` and `-GROUP`, a line each.

The kernel kills our children when their supervisor dies, but not their children.
This process does nothing else, needs only the standard library, and ignores signals.
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
        except OSError:  # it has ended already
            continue


if __name__ == "__main__":
    main()
