"""The position of a list page in its list. It is stored in the kind of its item, so that it survives a restart."""

from typing import NamedTuple

_LISTING = "listing"
MAX_FAILURES = 2  # failed pages in a row after which no further numbers are tried


class ListPosition(NamedTuple):
    number: int  # from 1
    named: int = 0  # items that the pages before it named
    step: int = 0  # increment of the number in the URL; 0 if pages are not numbered
    failures: int = 0  # numbered pages in a row before it that failed
    is_guess: bool = False  # no page linked to it: the list has ended if it is missing or empty
    slot: str = ""  # for numbered pages: see PageCounter


def listing_kind(position: ListPosition) -> str:
    kind = f"{_LISTING}{position.number}:{position.named}"
    if not position.step:
        return kind
    return f"{kind}:{position.step}:{position.failures}:{int(position.is_guess)}:{position.slot}"


def listing_position(kind: str) -> ListPosition | None:
    """Return the position of a list page; None for any other item."""
    if not kind.startswith(_LISTING):
        return None
    numbers = kind.removeprefix(_LISTING).split(":", 5)
    number, named, step, failures = ([int(each) for each in numbers[:4]] + [0, 0, 0])[:4]
    is_guess, slot = (numbers[4] == "1", numbers[5]) if len(numbers) > 5 else (False, "")
    return ListPosition(number, named, step, failures, is_guess, slot)
