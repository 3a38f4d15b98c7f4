"""Calls one function of a workflow step: `python -m corral.runtime.python_step MODULE:FUNCTION INPUT_FILE`.

It runs in the process of a script. The result goes out over the result protocol (see docs/howto/scripts.md), so that
the function may print what it likes.
"""

import asyncio
import importlib
import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

# Below the longest line of the result protocol.
_MAX_BYTES = 1024 * 1024 - 64


def main(arguments: list[str]) -> int:
    name, path = arguments
    given = json.loads(Path(path).read_bytes())
    sys.path.insert(0, str(Path.cwd()))
    try:
        result = call(find_function(name), given["inputs"], given["args"])
        text = orjson.dumps({"record": shape_output(result)}, option=orjson.OPT_NON_STR_KEYS)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the function raises, also sys.exit, is the failure of the step
        traceback.print_exc()
        return _send({"error": {"message": f"{type(error).__name__}: {error}"[:2000]}}, 1)
    if len(text) > _MAX_BYTES:
        told = f"{name} returned more than {_MAX_BYTES:,} bytes of JSON; write a file and return its path"
        return _send({"error": {"message": told}}, 1)
    _write(text)
    return _send({"done": {"records": 1}}, 0)


def find_function(name: str) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{name} is no function")
    return found  # type: ignore[no-any-return]


def call(function: Callable[..., Any], inputs: Mapping[str, Any], args: Mapping[str, Any]) -> Any:
    """Pass the arguments of the configuration by name, and the inputs if the function has room for them."""
    result = function(*choose_arguments(function, inputs, args), **args)
    return asyncio.run(_wait(result)) if inspect.isawaitable(result) else result


def choose_arguments(function: Callable[..., Any], inputs: Mapping[str, Any], args: Mapping[str, Any]) -> list[Any]:
    """The inputs, if the function has a first argument without a default, or called `inputs`, that is not given."""
    parameters = inspect.signature(function).parameters.values()
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    first = next((each for each in parameters if each.kind in by_position and each.name not in args), None)
    takes_inputs = first is not None and (first.default is first.empty or first.name == "inputs")
    return [dict(inputs)] if takes_inputs else []


def shape_output(result: Any) -> dict[str, Any]:
    """Steps have objects as outputs; any other value is the `value` of one."""
    if result is None:
        return {}
    return dict(result) if isinstance(result, Mapping) else {"value": result}


async def _wait(result: Any) -> Any:
    return await result


def _descriptor() -> int:
    return int(os.environ["CORRAL_RESULT_FD"])


def _send(message: dict[str, Any], status: int) -> int:
    _write(json.dumps(message).encode())
    return status


def _write(line: bytes) -> None:
    """Write a whole line: a pipe may take only a part of it at once."""
    left = memoryview(line + b"\n")
    while left:
        left = left[os.write(_descriptor(), left) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
