"""Names and words: one name for one thing, verbs for functions, plain prose, small folders."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.shape.files import ROOT, functions, parse, python_files, relative, repository_files

SOURCE = ROOT / "src/corral"
MAX_MODULES = 19
# Functions that begin like this are named after a result or a person instead of what they do.
_IRREGULAR = frozenset(
    {
        *(
            "asked",
            "begun",
            "bound",
            "built",
            "chosen",
            "dealt",
            "drawn",
            "found",
            "given",
            "gone",
            "got",
            "heard",
            "held",
        ),
        *("kept", "known", "laid", "left", "lost", "made", "meant", "said", "seen", "sent", "shown", "spent", "taken"),
        *("thrown", "told", "understood", "written"),
        *("nobody", "somebody", "what", "which", "who", "whoever", "whose"),
    }
)
_VERBS_IN_ED = frozenset({"embed", "exceed", "feed", "need", "proceed", "seed", "speed", "succeed"})
# Names that say neither what a value is nor where it comes from.
_VAGUE = frozenset(
    {
        "asked",
        "dealt",
        "given",
        "heard",
        "judged",
        "kept",
        "looked",
        "place",
        "places",
        "said",
        "shown",
        "taken",
        "told",
    }
)
# Stored or sent under these names, or a word of the field.
_STORED = frozenset({"KEPT", "asked_pages", "given_name", "is_end_shown", "kept"})
_PROSE = re.compile(r"\b(?:whoever|nobody|somebody|so many|so long|so much(?! as))\b", re.IGNORECASE)


def modules() -> list[Path]:
    return [path for path in python_files() if path.is_relative_to(SOURCE) and "migrations" not in path.parts]


def is_participle(name: str) -> bool:
    first = name.strip("_").split("_")[0]
    return first in _IRREGULAR or (first.endswith("ed") and first not in _VERBS_IN_ED)


def is_value(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Properties and fixtures are values for those who use them."""
    return any(word in ast.unparse(each) for each in node.decorator_list for word in ("property", "fixture"))


def test_functions_are_verbs() -> None:
    tests = [path for path in python_files() if path.is_relative_to(ROOT / "tests")]
    named = [
        f"{relative(path)}:{node.lineno} {node.name}"
        for path in [*modules(), *tests]
        for node in functions(path)
        if is_participle(node.name) and not is_value(node)
    ]
    assert not named, "name what they do:\n" + "\n".join(named)


def list_assigned_names(path: Path) -> Iterator[tuple[int, str]]:
    """Variables, parameters and attributes that a module assigns, with their lines."""
    for node in ast.walk(parse(path)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name):
                yield node.lineno, name


def test_variables_name_what_they_hold() -> None:
    vague = [
        f"{relative(path)}:{line} {name}"
        for path in modules()
        for line, name in list_assigned_names(path)
        if name not in _STORED and _VAGUE & set(name.strip("_").lower().split("_"))
    ]
    assert not vague, "name what they hold:\n" + "\n".join(vague)


def test_each_public_class_name_is_defined_once() -> None:
    places = defaultdict(list)
    for path in modules():
        for node in parse(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(relative(path))
    doubled = [f"{name}: {', '.join(paths)}" for name, paths in sorted(places.items()) if len(paths) > 1]
    assert not doubled, "give each its own name:\n" + "\n".join(doubled)


def test_prose_has_subjects() -> None:
    pages = [path for path in repository_files() if path.suffix == ".md" and path.is_relative_to(ROOT / "docs")]
    found = [
        f"{relative(path)}:{number}: {line.strip()}"
        for path in [*modules(), *pages, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if _PROSE.search(line)
    ]
    assert not found, "say who does what:\n" + "\n".join(found)


def test_the_glossary_has_each_word_once() -> None:
    words = re.findall(r"^\| \*\*(.+?)\*\*", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    assert [word for word, count in Counter(words).items() if count > 1] == []


def test_no_folder_has_too_many_modules() -> None:
    counts = Counter(path.parent for path in modules() if path.name != "__init__.py")
    full = [f"{relative(folder)}: {count}" for folder, count in counts.items() if count > MAX_MODULES]
    assert not full, f"split these (at most {MAX_MODULES} modules a folder): {full}"
