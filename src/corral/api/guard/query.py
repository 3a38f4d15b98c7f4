"""Check query parameters: a misspelt one must not be ignored."""

from collections import Counter
from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant

from corral.domain.errors import BadInput


async def check_query(request: Request) -> None:
    """Refuse a parameter that the route does not know, and one that is given twice."""
    route = request.scope["route"]
    # Pages for people accept any parameters, because a link may carry some.
    if not request.scope["query_string"] or not route.include_in_schema:
        return
    known = sorted(_names(route.dependant))
    for name, count in Counter(name for name, _ in request.query_params.multi_items()).items():
        if name not in known:
            hint = f"known are: {', '.join(known)}" if known else "this address takes none"
            raise BadInput(f"unknown parameter {name[:100]!r}", field=name[:100], hint=hint)
        if count > 1:
            raise BadInput(f"the parameter {name!r} is given {count} times", field=name, hint="send it once")


def _names(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for each in dependant.dependencies:
        yield from _names(each)
