"""A value that must not be shown: code that prints or formats it by accident gets `***`."""

import hmac
from collections.abc import Sequence
from typing import Any, Generic, NoReturn, TypeVar

T = TypeVar("T", str, bytes)

REDACTED = "***"
# Shorter values (`1`, `en`) reveal nothing, and replacing them would garble other texts.
_MIN_SECRET_CHARS = 6


class Secret(Generic[T]):
    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value: T = value

    def reveal(self) -> T:
        return self._value

    def __repr__(self) -> str:
        return REDACTED

    __str__ = __repr__

    def __format__(self, _: str) -> str:
        return REDACTED

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret) or type(self._value) is not type(other._value):
            return NotImplemented
        return hmac.compare_digest(_as_bytes(self._value), _as_bytes(other._value))

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled: readers of the file would see it")


def _as_bytes(value: str | bytes) -> bytes:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def without(value: Any, secrets: Sequence[str]) -> Any:
    """Return the value with every occurrence of a secret replaced, keys included."""
    searched = sorted({text for text in secrets if len(text) >= _MIN_SECRET_CHARS}, key=len, reverse=True)
    return _without(value, searched) if searched else value


def _without(value: Any, searched: Sequence[str]) -> Any:
    if isinstance(value, str):
        for text in searched:
            value = value.replace(text, REDACTED)
        return value
    if isinstance(value, dict):
        return {_without(key, searched): _without(each, searched) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_without(each, searched) for each in value)
    return value
