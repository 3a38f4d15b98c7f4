"""Compiled SQL is shared by all stores of a process, and forks begin with it: a store compiles its own otherwise."""

import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.base import Executable

from corral.store.tx import Compiler

_compiled: defaultdict[str, dict[int, Any]] = defaultdict(dict)
_initialize = Compiler.__init__


def share() -> None:
    """Give every store of this process the same compiled statements."""
    Compiler.__init__ = _initialize_shared  # type: ignore[method-assign]


def compile_for_sqlite() -> None:
    """Compile the statements of all modules that are loaded, for the forks of this process."""
    compiler = Compiler(sqlite_dialect(paramstyle="qmark"))
    for name, module in list(sys.modules.items()):
        if name.startswith("corral.store."):
            for value in vars(module).values():
                for statement in _list_statements(value):
                    compiler.sql(statement)


def _initialize_shared(self: Compiler, dialect: Dialect) -> None:
    _initialize(self, dialect)
    self._compiled = _compiled[dialect.name]


def _list_statements(value: object) -> Iterator[ClauseElement]:
    if isinstance(value, ClauseElement):
        if isinstance(value, Executable):
            yield value
    elif isinstance(value, dict):
        yield from (each for each in value.values() if isinstance(each, Executable) and isinstance(each, ClauseElement))
