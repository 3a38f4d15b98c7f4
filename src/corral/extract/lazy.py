"""A property that is computed on first access and then cached."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property as lazy_property
else:

    class lazy_property:  # noqa: N801 - read like `property`
        """`functools.cached_property` without the lock that it takes before Python 3.12.

        A page has about thirty of these, and the locks alone took a tenth of the time that a small page takes.
        """

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self._compute = compute
            self._name = compute.__name__
            self.__doc__ = compute.__doc__

        def __get__(self, owner: Any, kind: type | None = None) -> Any:
            if owner is None:
                return self
            value = owner.__dict__[self._name] = self._compute(owner)
            return value


__all__ = ("lazy_property",)
