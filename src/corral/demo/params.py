"""Query parameters with a range. Any other value is answered with a 400 that names the parameter."""

from starlette.exceptions import HTTPException
from starlette.requests import Request


def whole_number(request: Request, name: str, *, default: int, low: int, high: int) -> int:
    text = request.query_params.get(name, str(default))
    try:
        value = int(text)
    except ValueError:
        raise _refusal(name, low, high) from None
    if not low <= value <= high:
        raise _refusal(name, low, high)
    return value


def seconds(request: Request, name: str, *, default: float, high: float) -> float:
    text = request.query_params.get(name, str(default))
    try:
        value = float(text)
    except ValueError:
        raise _refusal(name, 0, high) from None
    # Written so that `nan`, which compares false with everything, is refused too.
    if not 0 <= value <= high:
        raise _refusal(name, 0, high)
    return value


def header_value(request: Request, name: str, *, default: str) -> str:
    text = request.query_params.get(name, default)
    if not (text.isascii() and text.isprintable()):
        raise HTTPException(400, f"{name} must be printable ASCII")
    return text


def _refusal(name: str, low: float, high: float) -> HTTPException:
    return HTTPException(400, f"{name} must be a number from {low:g} to {high:g}")
