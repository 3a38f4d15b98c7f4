"""Call one function of a workflow step: `python -m corral.runtime.python_step MODULE:FUNCTION INPUT_FILE`.

It runs in the process of a script. It sends the result over the result protocol (see docs/howto/scripts.md), so the
function may print anything.
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

# Just below the maximum line length of the result protocol.
_MAX_BYTES = 1024 * 1024 - 64


def main(arguments: list[str]) -> int:
    name, path = arguments
    document = json.loads(Path(path).read_bytes())
    sys.path.insert(0, str(Path.cwd()))
    try:
        result = call(find_function(name), document["inputs"], document["args"])
        text = orjson.dumps({"record": shape_output(result)}, option=orjson.OPT_NON_STR_KEYS)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - anything the function raises, also SystemExit, fails the step
        traceback.print_exc()
        return _send({"error": {"message": f"{type(error).__name__}: {error}"[:2000]}}, 1)
    if len(text) > _MAX_BYTES:
        message = f"{name} returned more than {_MAX_BYTES:,} bytes of JSON; write a file and return its path"
        return _send({"error": {"message": message}}, 1)
    _write(text)
    return _send({"done": {"records": 1}}, 0)


def find_function(name: str) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    target: Any = importlib.import_module(module)
    for part in path.split("."):
        target = getattr(target, part)
    if not callable(target):
        raise TypeError(f"{name} is not a function")
    return target  # type: ignore[no-any-return]


def call(function: Callable[..., Any], inputs: Mapping[str, Any], args: Mapping[str, Any]) -> Any:
    """Call the function with the arguments of the configuration by name, and with the inputs if it accepts them."""
    result = function(*choose_arguments(function, inputs, args), **args)
    return asyncio.run(_wait(result)) if inspect.isawaitable(result) else result


def choose_arguments(function: Callable[..., Any], inputs: Mapping[str, Any], args: Mapping[str, Any]) -> list[Any]:
    """Return the inputs as a positional argument if the function takes them, else nothing.

    It takes them if its first parameter that is not in `args` has no default, or is called `inputs`.
    """
    parameters = inspect.signature(function).parameters.values()
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    first = next((each for each in parameters if each.kind in by_position and each.name not in args), None)
    takes_inputs = first is not None and (first.default is first.empty or first.name == "inputs")
    return [dict(inputs)] if takes_inputs else []


def shape_output(result: Any) -> dict[str, Any]:
    """Return the result as an object; a result that is not a mapping becomes its `value`."""
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
