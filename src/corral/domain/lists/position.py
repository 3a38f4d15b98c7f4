"""Where a list page stands in its list. It is kept in the kind of its item, so that it survives a restart."""

from typing import NamedTuple

_LISTING = "listing"
MAX_FAILURES = 2  # in a row, after which the counting ends


class ListPosition(NamedTuple):
    number: int  # from 1
    named: int = 0  # items that the pages before it named
    step: int = 0  # of numbered pages: what is added to the number in the address, 0 where pages are not counted
    failures: int = 0  # numbered pages in a row before it that failed
    is_guess: bool = False  # no page linked to it: that it is missing, or empty, is the end of the list
    slot: str = ""  # of numbered pages: see PageCounter


def listing_kind(position: ListPosition) -> str:
    told = f"{_LISTING}{position.number}:{position.named}"
    if not position.step:
        return told
    return f"{told}:{position.step}:{position.failures}:{int(position.is_guess)}:{position.slot}"


def listing_place(kind: str) -> ListPosition | None:
    """The position of a list page; None for an item that is none."""
    if not kind.startswith(_LISTING):
        return None
    numbers = kind.removeprefix(_LISTING).split(":", 5)
    number, named, step, failures = ([int(each) for each in numbers[:4]] + [0, 0, 0])[:4]
    is_guess, slot = (numbers[4] == "1", numbers[5]) if len(numbers) > 5 else (False, "")
    return ListPosition(number, named, step, failures, is_guess, slot)
