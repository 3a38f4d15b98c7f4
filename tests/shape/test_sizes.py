"""A limit that is only hoped for does not hold."""

import ast

from tests.shape.files import functions, python_files, relative

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50

Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_no_file_is_too_long() -> None:
    counts = {relative(path): len(path.read_text().splitlines()) for path in python_files()}
    too_long = [f"{name}: {lines} lines" for name, lines in counts.items() if lines > MAX_FILE_LINES]
    assert not too_long, f"split these (at most {MAX_FILE_LINES} lines a file):\n" + "\n".join(too_long)


def test_no_function_is_too_long() -> None:
    too_long = [
        f"{relative(path)}:{function.lineno} {function.name}: {length(function)} lines"
        for path in python_files()
        for function in functions(path)
        if length(function) > MAX_FUNCTION_LINES
    ]
    assert not too_long, f"split these (at most {MAX_FUNCTION_LINES} lines a function):\n" + "\n".join(too_long)


def length(function: Function) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1
