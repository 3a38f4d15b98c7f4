"""Which isolation scripts run in."""

import subprocess
import sys

from corral.cli.verbs.doctor.check import Check, CheckStatus

_NAMESPACES = "scripts run in namespaces of their own: nothing outlives them, and the data folder is hidden from them"
_FOUND = {
    "namespaces": Check(CheckStatus.FINE, "scripts", _NAMESPACES),
    "user_namespaces": Check(CheckStatus.FINE, "scripts", f"{_NAMESPACES} (user namespaces)"),
}
_NONE = Check(
    CheckStatus.WATCH,
    "scripts",
    "the kernel grants no namespaces: scripts can read the files of this user, also the data folder",
    "allow unprivileged user namespaces on this machine, or start only scripts that you trust",
)


def check_scripts() -> Check:
    """Asked of a process of its own, because trying it means to fork."""
    command = [sys.executable, "-m", "corral.scripts.host"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        told = ""
    return _FOUND.get(told, _NONE)
