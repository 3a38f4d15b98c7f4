"""The outer shape of a JSON document, checked piece by piece before any parser builds objects from it.

Every step is a linear pass over the piece that has arrived, so that no document can be slow to check. A document that
is not JSON may be counted wrongly from its first error on; the parser refuses it there.
"""

import json
from collections.abc import Sequence

from corral.domain.errors import BadInput

MAX_DEPTH = 32
# A value of two bytes costs a parser a hundred bytes of memory, and an error message for it far more.
MAX_VALUES = 10_000
_DEPTH_CHANGES = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NOT_STRUCTURE = bytes(set(range(256)) - set(b"[]{},"))


class JsonShape:
    def __init__(self) -> None:
        self._in_string = False
        self._backslash = b""  # the last byte of the previous piece, if it escapes the first byte of the next one
        self._depth = 0
        self._values = 0

    def feed(self, piece: bytes) -> None:
        """Count the values of the next piece; raise BadInput if the document is too deep or has too many values."""
        structure = self._structure(piece)
        for bracket in structure.replace(b",", b""):
            self._depth += _DEPTH_CHANGES[bracket]
            if self._depth > MAX_DEPTH:
                raise BadInput(f"the body is nested deeper than {MAX_DEPTH} levels", field="body", code="too_deep")
        self._values += structure.count(b",") + structure.count(b"[") + structure.count(b"{")
        if self._values > MAX_VALUES:
            message = f"the body has more than {MAX_VALUES} values"
            raise BadInput(message, field="body", hint="split the request", code="too_many_values")

    def _structure(self, piece: bytes) -> bytes:
        """Return the brackets and commas outside of strings."""
        text = (self._backslash + piece).replace(b"\\\\", b"")
        self._backslash = b"\\" if text.endswith(b"\\") else b""
        parts = text.replace(b'\\"', b"").split(b'"')
        outside = parts[1::2] if self._in_string else parts[0::2]
        if len(parts) % 2 == 0:
            self._in_string = not self._in_string
        return b"".join(outside).translate(None, _NOT_STRUCTURE)


def find_repeated_key(document: bytes) -> str | None:
    """Return a key that one object of the document has twice, or None. Parsers silently use one of the two values."""
    repeated: list[str] = []

    def check(pairs: Sequence[tuple[str, None]]) -> None:
        if repeated or len(pairs) == len(dict(pairs)):
            return
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                repeated.append(name)
                return
            seen.add(name)

    json.loads(document, object_pairs_hook=check, parse_int=len, parse_float=len)
    return repeated[0] if repeated else None
