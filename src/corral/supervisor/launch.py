"""Becomes another program once its parent has recorded that it runs: `launch.py PARENT FD COMMAND…`.

A separate program that needs only the standard library: with -I -S it starts in a few milliseconds.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_CANNOT_START = 127


def main(parent: str, gate: str, *command: str) -> None:
    # It survives exec, and foreign programs do not set it themselves. On other systems the reaper has to suffice.
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # the parent died before this call
        os._exit(0)
    if not os.read(int(gate), 1):  # or it failed before it had recorded this process
        os._exit(0)
    os.close(int(gate))
    try:
        os.execvp(command[0], command)  # with the inherited environment
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error.strerror}\n")
        os._exit(_CANNOT_START)


if __name__ == "__main__":
    main(*sys.argv[1:])
