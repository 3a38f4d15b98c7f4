"""`domain` and `extract` are pure: no clock, and no module-level memo that is unbounded or unexplained."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import corral

SOURCE = Path(corral.__file__).parent
MODULES = sorted(path for room in ("domain", "extract") for path in (SOURCE / room).rglob("*.py"))
CLOCKS = {
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
    ("date", "today"),
    *(
        ("time", name)
        for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "localtime", "gmtime")
    ),
}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_reads_no_clock_and_explains_its_memos(path: Path) -> None:
    text = path.read_text()
    assert list(clock_calls(ast.parse(text))) == []
    assert list(bad_memos(text)) == []


def test_the_check_sees_clocks_and_memos() -> None:
    text = "import time\nfrom functools import cache\ntime.time()\n@cache\ndef read(): ...\n"
    assert list(clock_calls(ast.parse(text))) == ["line 3: time.time"]
    assert list(bad_memos(text)) == ["line 4: cache"]
    assert list(bad_memos("# Memo: few of them.\n@lru_cache(maxsize=64)\ndef read(): ...\n")) == []
    assert list(bad_memos("@lru_cache(maxsize=64)\ndef read(): ...\n")) == ["line 1: lru_cache"]
    assert list(bad_memos("# Memo: few.\n@lru_cache(maxsize=None)\ndef read(): ...\n")) == ["line 2: lru_cache"]


def clock_calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in CLOCKS:
                yield f"line {node.lineno}: {node.value.id}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            yield f"line {node.lineno}: from time import"


def bad_memos(text: str) -> Iterator[str]:
    """Memos without a bound, or without a comment above them that begins with `Memo:`."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        for memo in getattr(node, "decorator_list", ()):
            call = memo.func if isinstance(memo, ast.Call) else memo
            name = call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "")
            if name not in ("cache", "lru_cache"):
                continue
            bound = memo.keywords[0].value if isinstance(memo, ast.Call) and memo.keywords else None
            is_bounded = bound is not None and not (isinstance(bound, ast.Constant) and bound.value is None)
            if not is_bounded or not has_reason(lines, memo.lineno - 1):
                yield f"line {memo.lineno}: {name}"


def has_reason(lines: list[str], index: int) -> bool:
    while index and lines[index - 1].lstrip().startswith("#"):
        index -= 1
        if lines[index].lstrip().startswith("# Memo:"):
            return True
    return False
