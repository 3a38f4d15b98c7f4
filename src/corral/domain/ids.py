"""Identifiers: UUIDv7 for rows (they sort by age), 128 random bits for owners. runtime.new_ids creates them."""

import uuid
from typing import NewType

JobId = NewType("JobId", str)
RunId = NewType("RunId", str)
Owner = NewType("Owner", str)


def event_id(run_id: str, seq: int) -> str:
    """Derive the UUID of an event from its run and number, so that it need not be stored."""
    return str(uuid.uuid5(uuid.UUID(run_id), str(seq)))


def is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def first_id_of(millis: int) -> str:
    """Return an id that sorts before all ids of this millisecond since 1970, and after all earlier ones."""
    text = f"{(millis & 0xFFFF_FFFF_FFFF) << 80:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
