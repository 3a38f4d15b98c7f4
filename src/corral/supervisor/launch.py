"""Execute another program once the parent has recorded this process: `launch.py PARENT FD COMMAND…`.

A separate program that needs only the standard library: with -I -S it starts in a few milliseconds.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_CANNOT_START = 127


def main(parent: str, gate: str, *command: str) -> None:
    # This survives exec, and other programs do not set it themselves. Other systems than Linux have only the reaper.
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # the parent died before this call
        os._exit(0)
    if not os.read(int(gate), 1):  # the parent failed before it recorded this process
        os._exit(0)
    os.close(int(gate))
    try:
        os.execvp(command[0], command)  # with the inherited environment
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error.strerror}\n")
        os._exit(_CANNOT_START)


if __name__ == "__main__":
    main(*sys.argv[1:])
