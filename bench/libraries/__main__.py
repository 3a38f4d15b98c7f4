"""`python -m bench.libraries`: prints the figures of ADR 34 and 35. The libraries are no dependencies of Corral:

pip install hishel jsonpath-rfc9535 python-jsonpath
"""

import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

from corral.domain.json_path import TooWide, parse_query, select
from corral.domain.net.http_cache import CacheMode, StoredPage, age_s, freshness_s, is_fresh, should_store

NOW = time.time()
AGO_S = 50
Headers = tuple[tuple[str, str], ...]


def print_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def measure_us(call: Callable[[], Any], times: int) -> float:
    """The best of five rounds, in microseconds per call."""
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(times):
            call()
        best = min(best, time.perf_counter() - began)
    return best / times * 1e6


def measure_import(module: str) -> str:
    """Time and memory that importing a module adds to an interpreter."""
    code = (
        "import time; pages = lambda: int(open('/proc/self/statm').read().split()[1]); before = pages();"
        f"began = time.perf_counter(); import {module}; took = time.perf_counter() - began;"
        "print(f'{took * 1000:.0f} ms, {(pages() - before) * 4 / 1024:.1f} MiB')"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


# -- HTTP cache -----------------------------------------------------------------------------------------------


def _at(seconds: float) -> str:
    return formatdate(NOW + seconds, usegmt=True)


# Response headers of pages that were stored 50 seconds ago.
PAGES: dict[str, Headers] = {
    "max-age": (("cache-control", "max-age=60"), ("date", _at(-AGO_S))),
    "max-age without Date": (("cache-control", "max-age=30"),),
    "max-age twice": (("cache-control", "max-age=60"), ("cache-control", "max-age=5"), ("date", _at(-AGO_S))),
    "max-age, quoted": (("cache-control", 'max-age="60"'), ("date", _at(-AGO_S))),
    "max-age=soon": (("cache-control", "max-age=soon"), ("date", _at(-AGO_S))),
    "max-age with Age": (("cache-control", "max-age=60"), ("age", "50"), ("date", _at(-AGO_S))),
    "s-maxage": (("cache-control", "s-maxage=60"), ("date", _at(-AGO_S))),
    "Expires": (("expires", _at(30)), ("date", _at(-AGO_S))),
    "Expires without Date": (("expires", _at(30)),),
    "Expires: 0": (("expires", "0"), ("date", _at(-AGO_S))),
    "Last-Modified only": (("last-modified", _at(-86_400 * 30)), ("date", _at(-AGO_S))),
    "nothing": (("date", _at(-AGO_S)),),
}


def compare_http_cache() -> None:
    try:
        spec = importlib.import_module("hishel._core._spec")
        hishel = importlib.import_module("hishel")
    except ImportError:
        print_line("hishel is not installed")
        return
    print_line("HTTP cache: is a page stored 50 s ago fresh?        Corral  hishel")
    differ = 0
    for name, headers in PAGES.items():
        page = StoredPage("http://a.test/", 200, headers, b"", (), NOW - AGO_S, ())
        response = hishel.Response(200, hishel.Headers(_merge(headers)))
        ours, theirs = is_fresh(page, NOW), _is_fresh_by_hishel(spec, response)
        differ += ours is not theirs
        print_line(f"  {name:48}  {ours!s:6}  {theirs!s:6}{'' if ours is theirs else '  differs'}")
    headers = PAGES["max-age"]
    page = StoredPage("http://a.test/", 200, headers, b"", (), NOW - AGO_S, ())
    response = hishel.Response(200, hishel.Headers(_merge(headers)))
    print_line(f"  {differ} of {len(PAGES)} differ")
    print_line(f"  freshness: Corral {measure_us(lambda: freshness_s(headers) > age_s(page, NOW), 2000):.1f} us")
    print_line(f"  freshness: hishel {measure_us(lambda: _is_fresh_by_hishel(spec, response), 2000):.1f} us")
    print_line(f"  stored:    Corral {measure_us(lambda: should_store(page, CacheMode.REVALIDATE), 2000):.1f} us")
    print_line(f"  import corral.domain.net.http_cache: {measure_import('corral.domain.net.http_cache')}")
    print_line(f"  import hishel: {measure_import('hishel')}")


def _merge(headers: Headers) -> dict[str, str]:
    merged: dict[str, str] = {}
    for name, value in headers:
        merged[name] = f"{merged[name]}, {value}" if name in merged else value
    return merged


def _is_fresh_by_hishel(spec: Any, response: Any) -> bool:
    lifetime = spec.get_freshness_lifetime(response, False)
    return lifetime is not None and bool(lifetime > spec.get_age(response))


# -- JSON path ------------------------------------------------------------------------------------------------

ITEMS = [
    {"name": f"item {number}", "price": number, "tags": ["x", "y"][: number % 3], "old": None}
    for number in range(1_000)
]
DOCUMENT = {"shop": {"name": "Lamps", "a b": 1, "größe": "L", "it's": 2}, "items": ITEMS, "ok": False}
PATHS = [
    *("$.shop.name", "$['shop']['a b']", '$["shop"]["a b"]', r"$.shop['it\'s']", "$.shop.größe", "$.items[0].name"),
    *("$.items[-1].name", "$.items[9999].name", "$.items[*].name", "$.items.*.price", "$.items[1:].name", "$", "$.ok"),
    *("$.items[:2].name", "$.items[-2:].name", "$.items[::-1].name", "$.items[0:3:2].name", "$..price", "$..tags[0]"),
    *("$..['a b']", "$.items..[0]", "$.items[0].tags", "$.shop[0]", "$.items.name", "$.items[*].old"),
]
TIMED = ("$.shop.name", "$.items[*].name", "$..price")
WIDE = json.loads(json.dumps([[[[[[1] * 8] * 8] * 8] * 8] * 8]))
WIDE_PATH = "$" + "..*" * 4
WIDE_LIMIT_S = 20.0


def compare_json_path() -> None:
    print_line("JSON path")
    for module, find in (("jsonpath_rfc9535", "find"), ("jsonpath", "finditer")):
        try:
            library = importlib.import_module(module)
        except ImportError:
            print_line(f"  {module} is not installed")
            continue

        run = getattr(library, find)
        agree = sum(_values(run, path) == select(DOCUMENT, parse_query(path, field="f")) for path in PATHS)
        print_line(f"  {module}: the same result for {agree} of {len(PATHS)} paths; import {measure_import(module)}")
        for path in TIMED:
            ours = measure_us(lambda path=path: select(DOCUMENT, parse_query(path, field="f")), 20)  # type: ignore[misc]
            theirs = measure_us(lambda run=run, path=path: _values(run, path), 20)  # type: ignore[misc]
            print_line(f"    {path:18} Corral {ours:8.0f} us   {module} {theirs:8.0f} us")
        began = time.perf_counter()
        count = _count_until(library, find)
        print_line(
            f"    {WIDE_PATH} on {len(json.dumps(WIDE)) // 1024} KiB: {count} after {time.perf_counter() - began:.1f} s"
        )
    began = time.perf_counter()
    try:
        found = str(len(select(WIDE, parse_query(WIDE_PATH, field="f"))))
    except TooWide:
        found = "stopped at the limit"
    print_line(f"    {WIDE_PATH} in Corral: {found} after {time.perf_counter() - began:.1f} s")


def _values(run: Callable[..., Any], path: str) -> list[Any]:
    return [node.value for node in run(path, DOCUMENT)]


def _count_until(library: Any, find: str) -> str:
    """How many values the library yields for a path that multiplies them, up to a limit of time."""
    ends_at, count = time.perf_counter() + WIDE_LIMIT_S, 0
    lazily = getattr(library, "finditer", getattr(library, find))
    for _ in lazily(WIDE_PATH, WIDE):
        count += 1
        if time.perf_counter() > ends_at:
            return f"{count} values and more to come"
    return f"{count} values"


if __name__ == "__main__":
    compare_http_cache()
    compare_json_path()
