"""Own code: a Python function `parse(page)` of the user that returns the records of a page.

It is passed as one more field recipe, so that it works wherever fields work: in jobs, crawls and URL patterns.
"""

import ast
import warnings
from collections.abc import Iterable
from pathlib import PurePath
from types import CodeType
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec

PARSER_NAME = "parse()"  # of the recipe that holds the code; it fills no field of this name
FUNCTION = "parse"
MAX_CODE_BYTES = 64 * 1024
DEFAULT_FILE = "parse.py"
_MAX_FILE_CHARS = 200
_HINT = "write `def parse(page): return {…}`"


def make_parser(code: str, file: str = DEFAULT_FILE, *, field: str = "parse") -> FieldSpec:
    """Return the checked recipe of own code. `file` names the code in errors."""
    name = PurePath(file).name
    if not name or len(name) > _MAX_FILE_CHARS or not name.isprintable():
        raise BadInput("the name of the file cannot be printed, or is too long", field=f"{field}.file")
    spec = FieldSpec(PARSER_NAME, code=code, file=name, optional=True)
    check_code(spec, field=field)
    return spec


def parse_parser(document: Any, *, field: str = "parse") -> FieldSpec:
    """Parse the recipe of own code from `{code, file}`, or from the code alone."""
    supplied = {"code": document} if isinstance(document, str) else document
    if (
        not isinstance(supplied, dict)
        or not isinstance(supplied.get("code"), str)
        or not set(supplied) <= {"code", "file"}
    ):
        raise BadInput("parse is the text of a Python file, or an object with code and file", field=field, hint=_HINT)
    return make_parser(supplied["code"], supplied.get("file") or DEFAULT_FILE, field=field)


def check_code(spec: FieldSpec, *, field: str = "parse") -> None:
    """Raise BadInput, with the line, for code that cannot be compiled or has no suitable function `parse`."""
    code, file = spec.code or "", spec.file or DEFAULT_FILE
    if len(code.encode("utf-8", "replace")) > MAX_CODE_BYTES:
        size = len(code.encode("utf-8", "replace"))
        hint = "install what it needs as a package on the workers, and import it"
        raise BadInput(f"{file} has {size} bytes, more than {MAX_CODE_BYTES}", field=field, hint=hint, code="own_code")
    tree = _parse(code, file, field)
    definitions = [each for each in tree.body if FUNCTION in _names_of(each)]
    if not definitions:
        raise BadInput(f"{file} has no function parse", field=field, hint=_HINT, code="own_code")
    last = definitions[-1]
    if isinstance(last, ast.AsyncFunctionDef):
        message = f"{file}, line {last.lineno}: parse is a coroutine, and nothing awaits it"
        raise BadInput(message, field=field, hint="write `def parse(page)`", code="own_code")
    if isinstance(last, ast.FunctionDef) and not _takes_page(last.args):
        message = f"{file}, line {last.lineno}: parse takes one argument, the page"
        raise BadInput(message, field=field, hint=_HINT, code="own_code")


def compile_code(spec: FieldSpec) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(spec.code or "", spec.file or DEFAULT_FILE, "exec", dont_inherit=True)


def _parse(code: str, file: str, field: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings such as invalid escape sequences are left to the author
            tree = ast.parse(code, file)
            compile(tree, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        message = f"{file}, line {error.lineno or 1}: {error.msg}"
        raise BadInput(message, field=field, code="own_code") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise BadInput(f"{file} cannot be compiled: {error}", field=field, code="own_code") from None
    return tree


def _names_of(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of the module defines."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {each.asname or each.name for each in statement.names}
    if isinstance(statement, ast.Assign):
        return {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return set()


def _takes_page(arguments: ast.arguments) -> bool:
    positional = len(arguments.posonlyargs) + len(arguments.args)
    required = positional - len(arguments.defaults)
    lacks_keywords = any(default is None for default in arguments.kw_defaults)
    return required <= 1 and not lacks_keywords and (positional >= 1 or arguments.vararg is not None)


def parser_of(fields: Iterable[FieldSpec]) -> FieldSpec | None:
    return next((spec for spec in fields if spec.is_code), None)


def without_parser(fields: Iterable[FieldSpec]) -> tuple[FieldSpec, ...]:
    return tuple(spec for spec in fields if not spec.is_code)


def describe_parser(fields: Iterable[FieldSpec]) -> dict[str, str] | None:
    """Return own code in the form that `parse_parser` reads."""
    spec = parser_of(fields)
    return None if spec is None else {"file": spec.file or DEFAULT_FILE, "code": spec.code or ""}
