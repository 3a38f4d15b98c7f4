"""Arguments of the browser: constants, so that no text of a job can become an argument."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from corral.fetch.limits import MIB

BYPASS_NOTHING: Final = "<-loopback>"  # by default Chromium bypasses the proxy for loopback and link-local addresses

# Chromium uses only the last list, so ours repeats Playwright's. It adds `ScriptStreaming`: a script that is compiled
# while it arrives is not reported as data, so its decoded size could not be limited.
DISABLED_FEATURES: Final = (
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ScriptStreaming",
    "TcpPortRandomizationWin",
    "ThirdPartyStoragePartitioning",
    "msEdgeUpdateLaunchServicesPreferredVersion",
    "msForceBrowserSignIn",
)
CHROMIUM_ARGS: Final = (
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    f"--disable-features={','.join(DISABLED_FEATURES)}",
    "--disable-gpu",
    "--disable-notifications",
    "--disable-print-preview",
    "--disable-quic",
    "--disable-remote-fonts",
    "--disable-speech-api",
    "--disable-sync",
    "--dns-prefetch-disable",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # Second check: a request that bypasses the proxy cannot resolve a name.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    f"--proxy-bypass-list={BYPASS_NOTHING}",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)
# One of Playwright's defaults to drop: with it a page can flood the driver with navigations.
UNWANTED_ARGS: Final = ("--disable-ipc-flooding-protection",)
BLOCKED_TYPES: Final = frozenset({"font", "image", "media"})
VIEWPORT_WIDTH: Final = 1280
VIEWPORT_HEIGHT: Final = 720

# This option would send requests to this machine around the proxy.
FORBIDDEN_VARIABLE: Final = "PLAYWRIGHT_DISABLE_FORCED_CHROMIUM_PROXIED_LOOPBACK"
HOW_TO_INSTALL: Final = "install the Debian package chromium-headless-shell, or run `playwright install chromium`"

_SCREEN_VARIABLES: Final = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR")

# The headless shell first: it starts and renders several times faster. Binaries before their wrapper scripts, which
# add arguments and remain as a parent process.
_SHELL_PATHS: Final = (
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/bin/chromium-headless-shell",
    "/usr/local/bin/chromium-headless-shell",
    "/opt/chromium/chrome-headless-shell",
)
_BROWSER_PATHS: Final = (
    "/usr/lib/chromium/chromium",
    "/usr/bin/chromium",
    "/usr/local/bin/chromium",
    "/usr/bin/chromium-browser",
    "/snap/bin/chromium",
    "/opt/google/chrome/chrome",
    "/usr/bin/google-chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_OWN_SHELLS: Final = ("*/headless_shell", "*/chrome-headless-shell")


@dataclass(frozen=True, slots=True)
class BrowserLimits:
    executable: str = ""  # path of the Chromium to start; empty selects the fastest one on this machine
    launch_s: float = 10.0
    close_s: float = 5.0
    max_pages: int = 200  # per browser, like the next two limits
    max_age_s: float = 1800.0
    max_resident_bytes: int = 1024 * MIB
    # Above this the largest page is killed to protect the machine.
    kill_resident_bytes: int = 2048 * MIB
    max_at_once: int = 2 * (os.cpu_count() or 1)
    max_content_bytes: int = 10 * MIB  # decoded size of a document
    max_body_bytes: int = 32 * MIB  # decoded size of any other resource that a page loads
    max_decoded_bytes: int = 128 * MIB  # decoded size of all bodies of a run together
    max_popups: int = 20
    max_navigations: int = 20
    max_redirects: int = 10


def chromium_args() -> list[str]:
    return list(CHROMIUM_ARGS)


def is_sandboxed() -> bool:
    """Return whether to use the sandbox: Chromium refuses to run it as root."""
    return os.geteuid() != 0


def chromium_environment(home: Path, *, headed: bool = False) -> dict[str, str | float | bool]:
    """Return the environment of the browser."""
    path = "/usr/local/bin:/usr/bin:/bin"
    screen = {name: os.environ[name] for name in _SCREEN_VARIABLES if name in os.environ} if headed else {}
    ours = {"HOME": str(home), "TMPDIR": str(home), "XDG_CONFIG_HOME": str(home), "PATH": path, "LANG": "C.UTF-8"}
    return {**screen, **ours}


def has_screen() -> bool:
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")) or sys.platform == "darwin"


def find_headed_chromium(own: str = "") -> str | None:
    """Find a Chromium that can open a window."""
    named = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    candidates = [own, *_BROWSER_PATHS, *named]
    return next((path for path in candidates if path and os.access(path, os.X_OK) and Path(path).is_file()), None)


def find_chromium(own: str = "") -> str | None:
    """Find the fastest Chromium on this machine; `own` is the path of Playwright's own."""
    named = (shutil.which(name) for name in ("chromium-headless-shell", "chrome-headless-shell"))
    slower = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    candidates = [*_own_shells(own), *_SHELL_PATHS, *named, own, *_BROWSER_PATHS, *slower]
    return next((path for path in candidates if path and os.access(path, os.X_OK) and Path(path).is_file()), None)


def _own_shells(own: str) -> list[str]:
    """Return the headless shells beside Playwright's full browser: chromium-1200, chromium_headless_shell-1200."""
    for folder in Path(own).parents if own else ():
        kind, _, revision = folder.name.partition("-")
        if kind == "chromium" and revision:
            beside = folder.parent / f"chromium_headless_shell-{revision}"
            return [str(path) for pattern in _OWN_SHELLS for path in sorted(beside.glob(pattern))]
    return []
