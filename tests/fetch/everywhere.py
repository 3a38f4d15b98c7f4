"""A network in which every address is this machine: whatever is dialled, by whatever process, a canary hears it."""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_ROUTES = (
    ("ip", "link", "set", "lo", "up"),
    ("ip", "link", "add", "out", "type", "veth", "peer", "name", "far"),  # not every program uses a loopback
    ("ip", "address", "add", "198.18.0.1/24", "dev", "out"),
    ("ip", "link", "set", "out", "up"),
    ("ip", "link", "set", "far", "up"),
    ("ip", "route", "add", "local", "0.0.0.0/0", "dev", "lo"),
    ("ip", "-6", "route", "add", "local", "::/0", "dev", "lo"),
)


@contextmanager
def every_address_is_here() -> Iterator[bool]:
    """For this thread and what it starts. False where that takes a right we do not have: all is as it was, then."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        is_new = libc.unshare(_NEW_NETWORK) == 0
        try:
            yield is_new and _is_routed()
        finally:
            if is_new and libc.setns(before, _NEW_NETWORK) != 0:
                raise OSError(ctypes.get_errno(), "the network of before cannot be entered again")
    finally:
        os.close(before)


def _is_routed() -> bool:
    with suppress(OSError, subprocess.CalledProcessError):
        for command in _ROUTES:
            subprocess.run(command, check=True, capture_output=True)
        return True
    # Not even this much: a network without a loopback would fail everything.
    return False
