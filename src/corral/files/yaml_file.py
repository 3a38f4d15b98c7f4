"""Read YAML files; every problem names the file and, if known, the line. JSON is YAML, too.

PyYAML is imported where a file is read: idle processes do not need it.
"""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from corral.domain.errors import BadConfiguration

_MAX_CHARS = 300  # of the description of a problem


class UnreadableYaml(BadConfiguration):
    def __init__(self, path: Path, problem: str, line: int | None = None) -> None:
        super().__init__([f"{path}: {problem}" if line is None else f"{path}: line {line}: {problem}"])
        self.problem = problem
        self.line = line


class MarkedYaml(NamedTuple):
    document: Any
    lines: dict[str, int]  # by the path of the value, such as `budget.requests` or `urls.0`
    duplicates: list[tuple[str, int]]  # keys that a mapping has twice, with the line; PyYAML uses the last value


def read_yaml(path: Path, max_bytes: int, *, size_hint: str = "") -> Any:
    """Return the document in a file; None if it is empty.

    Raise FileNotFoundError if there is no such file, and UnreadableYaml if it cannot be read, is too large or is no
    YAML.
    """
    return _load(_read_bytes(path, max_bytes, size_hint), path)[0]


def read_marked_yaml(path: Path, max_bytes: int) -> MarkedYaml:
    """Like `read_yaml`, with the line numbers of the values and the keys that are written twice."""
    document, duplicates, root = _load(_read_bytes(path, max_bytes), path)
    return MarkedYaml(document, {} if root is None else dict(_list_lines(root)), duplicates)


def _load(content: bytes, path: Path) -> tuple[Any, list[tuple[str, int]], Any]:
    """Return the document, its duplicate keys and its root node."""
    import yaml  # noqa: PLC0415

    try:
        loader = yaml.SafeLoader(content.decode())
        try:
            root = loader.get_single_node()
            if root is None:
                return None, [], None
            # Before the document is constructed: that copies the keys of `<<` into the mapping.
            duplicates = list(_list_duplicates(root, set()))
            return loader.construct_document(root), duplicates, root
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: not UTF-8, or a day such as 2024-13-01
        mark = getattr(error, "problem_mark", None)
        problem = " ".join(str(getattr(error, "problem", None) or error).split())[:_MAX_CHARS]
        raise UnreadableYaml(path, f"is no YAML: {problem}", None if mark is None else mark.line + 1) from None


def _read_bytes(path: Path, max_bytes: int, size_hint: str = "") -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableYaml(path, f"cannot be read: {error.strerror}") from None
    if len(content) > max_bytes:
        raise UnreadableYaml(path, f"is larger than {_format_size(max_bytes)}{size_hint}")
    return content


def _format_size(size: int) -> str:
    return f"{size // 2**20} MiB" if size >= 2**20 else f"{size // 1024} KiB"


def _list_lines(node: Any, prefix: str = "", parents: tuple[Any, ...] = ()) -> Iterator[tuple[str, int]]:
    if node in parents:  # an alias of a mapping inside of it
        return
    if node.id == "mapping":
        for key, value in node.value:
            path = f"{prefix}{key.value}"
            yield path, key.start_mark.line + 1
            yield from _list_lines(value, f"{path}.", (*parents, node))
    elif node.id == "sequence":
        for index, value in enumerate(node.value):
            yield f"{prefix}{index}", value.start_mark.line + 1


def _list_duplicates(node: Any, visited: set[int]) -> Iterator[tuple[str, int]]:
    if node.id == "scalar" or id(node) in visited:  # an alias is its node once more
        return
    visited.add(id(node))
    if node.id == "sequence":
        for value in node.value:
            yield from _list_duplicates(value, visited)
        return
    keys: set[str] = set()
    for key, value in node.value:
        if key.id == "scalar":
            if key.value in keys:
                yield key.value, key.start_mark.line + 1
            keys.add(key.value)
        yield from _list_duplicates(value, visited)


def to_plain(value: Any) -> Any:
    """Return a YAML document as JSON values: YAML reads days as dates."""
    if isinstance(value, dict):
        return {str(name): to_plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [to_plain(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value
