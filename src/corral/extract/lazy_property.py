"""Values that are worked out when they are first asked for."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801 - used like `property`
    """functools.cached_property without its lock, which up to Python 3.11 takes longer than most of what it guards."""

    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self._work_out = work_out
        self._name = work_out.__name__
        self.__doc__ = work_out.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> "once[T]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> "once[T] | T":
        if instance is None:
            return self
        # Found there from now on: this is asked only where the instance itself has nothing of that name.
        value = instance.__dict__[self._name] = self._work_out(instance)
        return value
