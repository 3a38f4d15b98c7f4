"""The files of the repository, as git sees them: tracked, or new and not ignored."""

import ast
import gc
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def repository_files() -> tuple[Path, ...]:
    # A clone may belong to another user than the one who tests it; that is no reason to refuse to list it.
    command = [
        "git",
        "-c",
        f"safe.directory={ROOT}",
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = (ROOT / name for name in sorted(set(listed.split("\0"))) if name)
    return tuple(path for path in paths if path.is_file())


@contextmanager
def without_collector() -> Iterator[None]:
    """Parsing a thousand files takes a quarter of the time without the garbage collector."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def python_files() -> list[Path]:
    ours = tuple(ROOT / folder for folder in ("src", "tests", "bench", "eval", "scripts"))
    return [path for path in repository_files() if path.suffix == ".py" and any(path.is_relative_to(o) for o in ours)]


@cache
def parse(path: Path) -> ast.Module:
    """Several tests read the same files."""
    return ast.parse(path.read_text(), filename=str(path))


@cache
def functions(path: Path) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
    return tuple(node for node in ast.walk(parse(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
