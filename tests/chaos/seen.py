"""What must have happened at least once while the suite broke things: otherwise it broke too little."""

STALE = "a stale write was refused"
LOST_RACE = "a reaper lost a race"
POISON = "the poison cap was hit"
ALL = (STALE, LOST_RACE, POISON)

_seen: set[str] = set()


def sometimes(what: str, happened: bool) -> None:
    """Note that one of the things worth seeing has happened."""
    assert what in ALL, f"{what!r} is not on the list"
    if happened:
        _seen.add(what)


def seen() -> set[str]:
    return set(_seen)
