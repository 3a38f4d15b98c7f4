"""Generate the expected keys that follow from the document alone."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from corral.domain.coverage.spec import ListedKeys, ProductKeys
from corral.domain.coverage.values import Value


def expand_keys(keys: ProductKeys | ListedKeys, names: Sequence[str], today: date) -> Iterator[tuple[Value, ...]]:
    """Yield the values of every key, in the order of `names`."""
    if isinstance(keys, ListedKeys):
        return reorder(keys.rows, keys.names, names)
    return itertools.product(*(keys.dimensions[name].expand(today) for name in names))


def reorder(
    rows: Iterable[tuple[Value, ...]], columns: Sequence[str], names: Sequence[str]
) -> Iterator[tuple[Value, ...]]:
    """Yield the rows, which have these `columns`, in the order of `names`."""
    if tuple(columns) == tuple(names):
        return iter(rows)
    order = [list(columns).index(name) for name in names]
    return (tuple([row[at] for at in order]) for row in rows)
