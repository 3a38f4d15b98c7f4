"""One way out: only the egress may open a connection, and nobody else can even name the means."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.shape.files import ROOT, parse, relative

SOURCE = ROOT / "src/corral"
MEANS = frozenset(
    {"aiohttp", "http.client", "httpx", "requests", "socket", "ssl", "urllib.request", "websockets", "wreq"}
)
WAYS_OUT = ("fetch/egress/", "fetch/proxy/")
# The demo is a server; the supervisor asks the database that the settings name whether it answers.
SERVICES = ("demo/", "supervisor/checks.py")
# The demo and the API are servers; the others speak to a child process over a local socket pair. The supervisor asks
# the API it has started itself whether it is ready, and the database in the settings whether it answers.
_LOCAL = frozenset({"socket"})
EXEMPT = {
    "demo/": MEANS,
    "api/binding.py": _LOCAL,
    "api/server.py": _LOCAL,
    "engine/node/pool.py": _LOCAL,
    "fetch/parsing/process.py": _LOCAL,
    "entrypoints/worker_process.py": _LOCAL,
    "entrypoints/worker_loop.py": _LOCAL,
    "runtime/heartbeat.py": _LOCAL,
    "scripts/host.py": _LOCAL,
    "scripts/launcher.py": _LOCAL,
    "runtime/process.py": _LOCAL,
    "entrypoints/parser_process.py": _LOCAL,
    "supervisor/checks.py": frozenset({"http.client", "socket"}),
}


def list_imports(path: Path) -> Iterator[str]:
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and is_import(node.func):
            yield from (str(arg.value) for arg in node.args if isinstance(arg, ast.Constant))


def is_import(function: ast.expr) -> bool:
    match function:
        case ast.Name(id="__import__") | ast.Attribute(value=ast.Name(id="importlib"), attr="import_module"):
            return True
    return False


def find_allowed_modules(name: str) -> frozenset[str]:
    if name.startswith(WAYS_OUT):
        return MEANS
    return next((means for place, means in EXEMPT.items() if name.startswith(place)), frozenset())


def means_used(path: Path) -> set[str]:
    names = set(list_imports(path))
    return {means for means in MEANS if any(name == means or name.startswith(f"{means}.") for name in names)}


def test_nothing_but_the_egress_can_open_a_connection() -> None:
    offenders = [
        f"{relative(path)}: {', '.join(sorted(forbidden))}"
        for path in sorted(SOURCE.rglob("*.py"))
        if (forbidden := means_used(path) - find_allowed_modules(path.relative_to(SOURCE).as_posix()))
    ]
    assert not offenders, "go through corral.fetch.egress.client instead:\n" + "\n".join(offenders)


def test_the_walk_sees_the_egress_itself() -> None:
    assert means_used(SOURCE / "fetch/egress/client.py") == {"wreq"}
    assert "socket" in means_used(SOURCE / "fetch/egress/dns.py")


def test_no_stream_is_opened_behind_its_back() -> None:
    """asyncio can connect without importing socket; only with a socket handed to it does it dial nobody."""
    calls = ("open_connection", "create_connection", "open_unix_connection", "sock_connect")
    offenders = [
        f"{relative(path)}:{node.lineno} {node.func.attr}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.relative_to(SOURCE).as_posix().startswith((*WAYS_OUT, *SERVICES))
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in calls
        if not any(keyword.arg == "sock" for keyword in node.keywords)
    ]
    assert not offenders, "go through corral.fetch.egress.client instead:\n" + "\n".join(offenders)
