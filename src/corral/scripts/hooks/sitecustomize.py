"""The Python of a script loads this before the script, because aiohttp and Playwright do not use HTTP_PROXY as it is.

It runs in interpreters of other versions, changes only defaults, and never fails: a script that names a proxy, or
`trust_env`, keeps its own. It also loads a sitecustomize of the machine, which it would otherwise hide.
"""

from __future__ import annotations  # for scripts with an older Python

import contextlib
import functools
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from typing import Any
from urllib.parse import unquote, urlsplit

_FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib would be loaded in every script


def _patch_aiohttp(module: Any) -> None:
    defaults = module.ClientSession.__init__.__kwdefaults__
    if "trust_env" in defaults:
        defaults["trust_env"] = True


def _patch_playwright(module: Any) -> None:
    """Pass the proxy with its credentials, which Chromium does not read from HTTP_PROXY."""
    for name in ("launch", "launch_persistent_context"):
        setattr(module.BrowserType, name, _add_proxy(getattr(module.BrowserType, name)))


def _add_proxy(launch: Any) -> Any:
    @functools.wraps(launch)
    def launch_with_proxy(self: Any, *arguments: Any, **options: Any) -> Any:
        if options.get("proxy") is None and (proxy := _read_proxy()):
            options["proxy"] = proxy
        return launch(self, *arguments, **options)

    return launch_with_proxy


def _read_proxy() -> dict[str, str]:
    parts = urlsplit(os.environ.get("HTTP_PROXY", ""))
    if not parts.hostname:
        return {}
    server = f"{parts.scheme}://{parts.hostname}:{parts.port}"
    return {"server": server, "username": unquote(parts.username or ""), "password": unquote(parts.password or "")}


_PATCHES = {
    "aiohttp.client": _patch_aiohttp,
    "playwright.sync_api._generated": _patch_playwright,
    "playwright.async_api._generated": _patch_playwright,
}


class _PatchingFinder:
    """Finds modules as Python does, and patches those in `_PATCHES` after they were loaded."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG004
        patch = _PATCHES.get(name)
        spec = None if patch is None else PathFinder.find_spec(name, path)
        if patch is None or spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            load(module)
            # If another version of the library does not fit the patch, it connects directly.
            with contextlib.suppress(Exception):
                patch(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _load_other() -> None:
    """Load the sitecustomize that this one hides."""
    spec = PathFinder.find_spec("sitecustomize", [path for path in sys.path if path])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


if _FOLDER in sys.path:
    sys.path[:] = [path for path in sys.path if path != _FOLDER]
    sys.meta_path.insert(0, _PatchingFinder)
    _load_other()
