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
    # The locations of certificates on this machine.
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
    """Return the defaults, whitelisted and named variables, the configuration and Corral's own; later ones win."""
    passed = {name: value for name, value in source.items() if name in _PASSED or name.startswith("LC_")}
    named = {name: source[name] for name in payload.env_names if name in source and not name.startswith(OWN_PREFIX)}
    own = {
        "CORRAL_RUN_ID": run_id,
        "CORRAL_ATTEMPT": str(attempt),
        "CORRAL_RESULT_FD": str(RESULT_FD),
        **({"CORRAL_TASK_ID": payload.task_id} if payload.task_id else {}),
    }
    environment = {**_USUAL, **passed, **named, **payload.env, **network, **own}
    return {**environment, **_proxy_hooks(environment)} if network else environment


def _proxy_hooks(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that load `scripts.hooks`, for libraries that do not read the proxy variables themselves."""
    paths = [_HOOKS, *filter(None, [environment.get("PYTHONPATH")])]
    preload = f'--require "{_HOOKS}/proxy.cjs"'
    return {
        "PYTHONPATH": os.pathsep.join(paths),
        "NODE_USE_ENV_PROXY": "1",
        "NODE_OPTIONS": " ".join(filter(None, [environment.get("NODE_OPTIONS"), preload])),
    }


def secrets_of(payload: ScriptPayload, source: Mapping[str, str] = os.environ) -> list[str]:
    """Return values to redact in the output of the script; short ones would redact ordinary words."""
    return [value for name in payload.env_names if len(value := source.get(name, "")) >= 6]
