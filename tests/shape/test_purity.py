"""`domain` and `extract` are pure: no clock, no module-level state, and no memo but the named ones."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import corral
from tests.shape.files import parse

SOURCE = Path(corral.__file__).parent
# Memos of pure functions over strings, and of data files: bounded, and explained where they stand. Everything else that
# is remembered between pages belongs to the process that reads them (`extract.link_classifier.ReadMemory`).
MEMOS = {
    "domain/crawl/scope.py: _split",
    "domain/net/canonical.py: _authority_key_of",
    "domain/net/canonical.py: _link",
    "domain/net/canonical.py: _origin_of",
    "domain/net/public_suffix.py: _load_suffixes",
    "domain/net/public_suffix.py: is_public_suffix",
    "domain/net/public_suffix.py: registrable_domain",
    "domain/net/url.py: _normal_host",
    "domain/net/url.py: _parse_cached",
    "extract/classify/insertions.py: _list_identifiers",
    "extract/classify/insertions.py: _list_texts",
    "extract/classify/insertions.py: read_script",
    "extract/types/address_data.py: _names",
    "extract/types/address_data.py: load_format",
    "extract/types/dates/parts.py: _months_of",
    "extract/types/locales.py: _likely_territory",
    "extract/types/locales.py: _symbols",
    "extract/types/locales.py: date_order",
}
CONTAINERS = {"dict", "list", "set", "bytearray", "Counter", "OrderedDict", "defaultdict", "deque", "ChainMap"}
CONTAINERS |= {"WeakKeyDictionary", "WeakValueDictionary", "WeakSet"}
MUTATORS = {"add", "append", "appendleft", "clear", "discard", "extend", "insert", "move_to_end", "pop", "popitem"}
MUTATORS |= {"popleft", "remove", "setdefault", "sort", "subtract", "update"}
FROZEN = {"NamedTuple", "Enum", "StrEnum", "IntEnum", "Protocol", "Exception"}
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
    assert list(clock_calls(parse(path))) == []
    assert list(bad_memos(path.read_text(), parse(path))) == []


def test_memos_are_the_named_ones() -> None:
    found = {f"{path.relative_to(SOURCE)}: {name}" for path in MODULES for name in memos(parse(path))}
    assert found == MEMOS, "name a new memo above, with its reason beside it, or let the reading process own it"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_has_no_state(path: Path) -> None:
    assert list(state(parse(path), stateful_classes())) == []


def test_the_check_sees_state_and_leaves_constants_alone() -> None:
    def find_state(text: str) -> list[str]:
        tree = ast.parse(text)
        return list(state(tree, classes_with_state(tree)))

    memory = "class Memory:\n    def __init__(self): self.known = {}\n"
    assert find_state(f"{memory}_memory = Memory()") == ["line 3: _memory"]
    assert find_state("class Counters(dict): ...\n_COUNTERS: Counters = Counters()") == ["line 2: _COUNTERS"]
    assert find_state("seen = {}\ndef read(url): seen[url] = 1") == ["line 1: seen"]
    assert find_state("seen = set()") == ["line 1: seen"]
    assert find_state("seen = [0]\ndef read(url): seen.append(url)") == ["line 1: seen"]
    assert find_state("count = 0\ndef read():\n    global count\n    count += 1") == ["line 3: global count"]
    frozen = "class Point(NamedTuple):\n    x: int\nORIGIN = Point(0)\nNAMES = {'a': 1}\nCODES = frozenset({1})\n"
    assert find_state(f"{frozen}@dataclass(frozen=True)\nclass Rules:\n    a: int = 1\nRULES = Rules()\n") == []
    assert find_state("_SPREAD = [byte for byte in range(256)]\ndef read(): return _SPREAD[0]") == []


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


def bad_memos(text: str, tree: ast.AST | None = None) -> Iterator[str]:
    """Memos without a bound, or without a comment above them that begins with `Memo:`."""
    lines = text.splitlines()
    for node in ast.walk(tree or ast.parse(text)):
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


def memos(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(
            name_of(each) in ("cache", "lru_cache") for each in decorators(node)
        ):
            yield node.name


def decorators(node: ast.FunctionDef | ast.ClassDef) -> Iterator[ast.expr]:
    for each in node.decorator_list:
        yield each.func if isinstance(each, ast.Call) else each


def name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return name_of(node.value)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


@cache
def stateful_classes() -> frozenset[str]:
    return frozenset(name for path in MODULES for name in classes_with_state(parse(path)))


def classes_with_state(tree: ast.Module) -> frozenset[str]:
    """Classes whose instances can change: those with a constructor of their own, and kinds of containers."""
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        bases = {name_of(base) for base in node.bases}
        is_frozen = bool(bases & FROZEN) or any("frozen=True" in ast.unparse(each) for each in node.decorator_list)
        has_constructor = any(isinstance(each, ast.FunctionDef) and each.name == "__init__" for each in node.body)
        is_dataclass = any(name_of(each) == "dataclass" for each in decorators(node))
        if not is_frozen and (has_constructor or is_dataclass or bases & CONTAINERS):
            found.add(node.name)
    return frozenset(found)


def state(tree: ast.Module, stateful: frozenset[str]) -> Iterator[str]:
    """Names of a module that hold an empty or changed container, or an object that can change."""
    changed = set(find_changed_names(tree))
    for node in tree.body:
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if not isinstance(node, ast.Assign | ast.AnnAssign) or value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        made = name_of(value.func) if isinstance(value, ast.Call) else ""
        is_empty = made in CONTAINERS and isinstance(value, ast.Call) and not value.args and not value.keywords
        is_empty = is_empty or ast.unparse(value) in ("{}", "[]")
        for target in targets:
            if is_empty or made in stateful or name_of(target) in changed:
                yield f"line {node.lineno}: {name_of(target)}"
    for each in ast.walk(tree):
        if isinstance(each, ast.Global):
            yield f"line {each.lineno}: global {', '.join(each.names)}"


def find_changed_names(tree: ast.AST) -> Iterator[str]:
    """Names that a function changes in place."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        own = {each.arg for each in ast.walk(function) if isinstance(each, ast.arg)}
        own |= {
            each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        for node in ast.walk(function):
            held: ast.AST | None = None
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
                held = node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
                held = node.func.value
            if isinstance(held, ast.Name) and held.id not in own:
                yield held.id
