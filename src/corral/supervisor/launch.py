"""Becomes another program once its parent has recorded that it runs: `launch.py PARENT FD COMMAND…`.

A program of its own that needs nothing but Python: run with -I -S it is there in a few milliseconds.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_CANNOT_START = 127


def main(parent: str, gate: str, *command: str) -> None:
    # It outlives the exec. Foreign programs do not ask for it themselves. Elsewhere the reaper has to do.
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it died before we asked
        os._exit(0)
    if not os.read(int(gate), 1):  # or it gave up before it had written us down
        os._exit(0)
    os.close(int(gate))
    try:
        os.execvp(command[0], command)  # the environment is the one we were given
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error.strerror}\n")
        os._exit(_CANNOT_START)


if __name__ == "__main__":
    main(*sys.argv[1:])
