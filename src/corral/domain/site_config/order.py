"""The order of sites that depend on each other."""

from collections.abc import Iterable, Mapping

from corral.domain.errors import BadInput


def check_dependencies(depends_on: Mapping[str, Iterable[str]]) -> None:
    """Raise BadInput with every unknown site, or with one cycle if there is any."""
    unknown = [
        f"{site} depends on {each}" for site, needed in depends_on.items() for each in needed if each not in depends_on
    ]
    if unknown:
        raise BadInput(
            f"a site waits for one that is not scraped with it: {'; '.join(unknown)}",
            field="depends_on",
            hint="start both, or remove the dependency",
        )
    check_no_cycle(depends_on)


def check_no_cycle(depends_on: Mapping[str, Iterable[str]]) -> None:
    cycle = find_cycle(depends_on)
    if cycle:
        raise BadInput(
            f"sites wait for each other: {' -> '.join(cycle)}",
            field="depends_on",
            hint="remove one of the dependencies",
        )


def find_cycle(depends_on: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the sites of a cycle, the first one again at its end; empty if there is none."""
    done: dict[str, None] = {}
    for start in depends_on:
        path = [start]
        branches = [iter(depends_on[start])]
        while branches and start not in done:
            following = next(branches[-1], None)
            if following is None:
                done[path.pop()] = None
                branches.pop()
            elif following in path:
                return [*path[path.index(following) :], following]
            elif following not in done:
                path.append(following)
                branches.append(iter(depends_on.get(following, ())))
    return []
