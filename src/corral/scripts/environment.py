"""The environment of a script: a whitelist, the variables its configuration names, and Corral's own."""

import os
from collections.abc import Mapping
from pathlib import Path

from corral.domain.runs.payload.script import ScriptPayload
from corral.domain.scripts.scraper import OWN_PREFIX
from corral.scripts.request import RESULT_FD

_PASSED = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    # Where the certificates lie on this machine.
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
)
_HOOKS = str(Path(__file__).parent / "hooks")
_USUAL = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}


def build_environment(
    payload: ScriptPayload,
    run_id: str,
    attempt: int,
    network: Mapping[str, str],
    source: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """Later groups win: the usual values, what the machine says, the configuration, and what Corral demands."""
    passed = {name: value for name, value in source.items() if name in _PASSED or name.startswith("LC_")}
    named = {name: source[name] for name in payload.env_names if name in source and not name.startswith(OWN_PREFIX)}
    own = {
        "CORRAL_RUN_ID": run_id,
        "CORRAL_ATTEMPT": str(attempt),
        "CORRAL_RESULT_FD": str(RESULT_FD),
        **({"CORRAL_TASK_ID": payload.task_id} if payload.task_id else {}),
    }
    found = {**_USUAL, **passed, **named, **payload.env, **network, **own}
    return {**found, **_proxy_hooks(found)} if network else found


def _proxy_hooks(found: Mapping[str, str]) -> dict[str, str]:
    """For libraries that do not read the proxy variables by themselves: see `scripts.hooks`."""
    paths = [_HOOKS, *filter(None, [found.get("PYTHONPATH")])]
    preload = f'--require "{_HOOKS}/proxy.cjs"'
    return {
        "PYTHONPATH": os.pathsep.join(paths),
        "NODE_USE_ENV_PROXY": "1",
        "NODE_OPTIONS": " ".join(filter(None, [found.get("NODE_OPTIONS"), preload])),
    }


def secrets_of(payload: ScriptPayload, source: Mapping[str, str] = os.environ) -> list[str]:
    """Values that must not be shown when the script prints them; short ones would hide ordinary words."""
    return [value for name in payload.env_names if len(value := source.get(name, "")) >= 6]
