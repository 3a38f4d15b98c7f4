"""Call a user's function `parse(page)`, and check what it returns."""

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any

from corral.domain.fields.own_code import DEFAULT_FILE, FUNCTION
from corral.domain.fields.spec import FieldSpec
from corral.extract.own_code.code_page import CodePage, FollowLinks

MAX_ROWS = 10_000  # of one page
_MAX_NESTING = 20
_MAX_MESSAGE_CHARS = 500
_MAX_FRAMES = 20
_MAX_NAME_CHARS = 200
_INT_BOUND = 2**63


@dataclass(frozen=True, slots=True)
class CodeOutput:
    """The records and links that own code returned. With `links` None, a crawl follows the links of the page."""

    rows: tuple[dict[str, Any], ...]
    links: tuple[str, ...] | None = None


class CodeError(Exception):
    """Own code raised, or returned something that is no record. `trace` has only the frames of own code."""

    def __init__(self, message: str, trace: str | None = None) -> None:
        super().__init__(message)
        self.trace = trace


def call_code(spec: FieldSpec, page: CodePage, compiled: CodeType, max_links: int) -> CodeOutput:
    """Execute the file in a new namespace and call its `parse`, so that no state passes from one page to the next."""
    file = spec.file or DEFAULT_FILE
    namespace: dict[str, Any] = {"__name__": file.removesuffix(".py"), "__file__": file}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compiled, namespace)  # noqa: S102 - own code is executed on purpose; see ADR 46
            return _collect(namespace[FUNCTION](page), file, max_links)
    except (MemoryError, CodeError):
        raise
    except BaseException as error:  # noqa: BLE001 - also SystemExit: the reader must survive for other pages
        raise _describe(error, file, spec.code or "") from None


def _collect(returned: Any, file: str, max_links: int) -> CodeOutput:
    rows: list[dict[str, Any]] = []
    links: list[str] | None = None
    for entry in _iterate(returned, file):
        if isinstance(entry, FollowLinks):
            links = [*(links or ()), *entry.urls]
        elif entry is not None:
            if not isinstance(entry, Mapping):
                raise CodeError(f"{file}: parse returned {_kind(entry)}, and a record is a dict")
            row = _check_value(entry, file, f"record {len(rows) + 1}", 0)
            rows += [row] if row else []
        if len(rows) > MAX_ROWS or (links is not None and len(links) > max_links):
            what = f"{MAX_ROWS} records" if len(rows) > MAX_ROWS else f"{max_links} links"
            raise CodeError(f"{file}: parse returned more than {what} for one page")
    return CodeOutput(tuple(rows), None if links is None else tuple(links))


def _iterate(returned: Any, file: str) -> Iterable[Any]:
    if returned is None or isinstance(returned, Mapping | FollowLinks):
        return (returned,)
    if isinstance(returned, str | bytes) or not isinstance(returned, Iterable):
        problem = f"{file}: parse returned {_kind(returned)}"
        raise CodeError(f"{problem}; return a dict, a list of dicts, page.follow(…) or None, or yield them")
    return returned


def _check_value(value: Any, file: str, path: str, depth: int) -> Any:
    """Return the value as JSON; raise CodeError if JSON cannot hold it. Only tuples are converted, to lists."""
    if depth > _MAX_NESTING:
        raise CodeError(f"{file}: {path} is nested more than {_MAX_NESTING} levels deep")
    if isinstance(value, Mapping):
        return {
            _check_name(name, file, path): _check_value(entry, file, f"{path}.{name}"[:_MAX_NAME_CHARS], depth + 1)
            for name, entry in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            _check_value(entry, file, f"{path}[{index}]"[:_MAX_NAME_CHARS], depth + 1)
            for index, entry in enumerate(value)
        ]
    return _check_scalar(value, file, path)


def _check_scalar(value: Any, file: str, path: str) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _check_text(str(value), file, path)
    if isinstance(value, int) and -_INT_BOUND <= value < _INT_BOUND:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    is_number = isinstance(value, int | float)
    what = f"{value!r:.40}, which no JSON number holds" if is_number else f"{_kind(value)}, which JSON does not have"
    raise CodeError(f"{file}: {path} is {what}; convert it to a text or a number")


def _check_text(value: str, file: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise CodeError(f"{file}: {path} has a character that UTF-8 cannot encode") from None
    return value.replace("\0", "")


def _check_name(name: Any, file: str, path: str) -> str:
    if not isinstance(name, str) or not name or len(name) > _MAX_NAME_CHARS:
        raise CodeError(f"{file}: a name in {path} is {name!r:.100}; names are texts of up to {_MAX_NAME_CHARS}")
    return _check_text(str(name), file, path)


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"


def _describe(error: BaseException, file: str, code: str) -> CodeError:
    """Return an error with the line of the code in its message, and a traceback of the frames of own code."""
    frames = _frames_of(error.__traceback__, file)
    lines, trace = code.splitlines(), ["Traceback (most recent call last):"]
    for line, function in frames[-_MAX_FRAMES:]:
        trace.append(f'  File "{file}", line {line}, in {function}')
        trace += [f"    {lines[line - 1].strip()[:_MAX_NAME_CHARS]}"] if 0 < line <= len(lines) else []
    message = f"{type(error).__name__}: {_text_of(error)}".removesuffix(": ")
    where = f"{file}, line {frames[-1][0]}, in {frames[-1][1]}" if frames else file
    return CodeError(f"{where}: {message}", "\n".join([*trace, message]))


def _frames_of(trace: TracebackType | None, file: str) -> list[tuple[int, str]]:
    found = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            found.append((trace.tb_lineno, trace.tb_frame.f_code.co_name))
        trace = trace.tb_next
    return found


def _text_of(error: BaseException) -> str:
    try:
        return str(error)[:_MAX_MESSAGE_CHARS].encode("utf-8", "replace").decode()
    except Exception:  # noqa: BLE001 - the code of an exception class is the user's, too
        return ""
