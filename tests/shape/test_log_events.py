"""Every log line starts with a stable snake_case event name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.shape.files import ROOT, parse, relative

LEVELS = frozenset({"debug", "info", "warning", "error", "exception", "critical"})
EVENT = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+")
# Written through the standard library, which has no fields: the event name, a colon and the sentence.
STANDARD_LIBRARY = {"src/corral/settings.py"}


def log_calls(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(parse(path)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in LEVELS:
            continue
        if isinstance(node.func.value, ast.Name) and node.func.value.id in ("log", "_log", "logger"):
            yield node


def event_of(call: ast.Call, path: Path) -> str:
    event = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else ""
    text = event if isinstance(event, str) else ""
    return text.partition(":")[0] if relative(path) in STANDARD_LIBRARY else text


def test_every_log_line_has_an_event_name() -> None:
    calls = [(path, call) for path in sorted((ROOT / "src/corral").rglob("*.py")) for call in log_calls(path)]
    assert len(calls) > 30
    wrong = [f"{relative(path)}:{call.lineno}" for path, call in calls if not EVENT.fullmatch(event_of(call, path))]
    assert not wrong, "the first argument must be a snake_case event name:\n" + "\n".join(wrong)
