"""The check of the isolation in which scripts run."""

import subprocess
import sys

from corral.cli.verbs.doctor.check import Check, CheckStatus

_NAMESPACES = "scripts run in their own namespaces: no process outlives them, and they cannot see the data folder"
_BY_ISOLATION = {
    "namespaces": Check(CheckStatus.FINE, "scripts", _NAMESPACES),
    "user_namespaces": Check(CheckStatus.FINE, "scripts", f"{_NAMESPACES} (user namespaces)"),
}
_NONE = Check(
    CheckStatus.WATCH,
    "scripts",
    "the kernel grants no namespaces: scripts can read the files of this user, including the data folder",
    "allow unprivileged user namespaces on this machine, or start only scripts that you trust",
)


def check_scripts() -> Check:
    """Check the isolation in a separate process, because the check has to fork."""
    command = [sys.executable, "-m", "corral.scripts.host"]
    try:
        isolation = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        isolation = ""
    return _BY_ISOLATION.get(isolation, _NONE)
