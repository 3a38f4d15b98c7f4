"""The notation of recipes: slots that a page's URL fills, JSON paths, and templates of both.

A slot is `{path.1}`, `{query.id}` or `{origin}`; a path is `$.items[0].name` or `$.items[id=path.1].name`; the text of
a field is `{$.price.amount:0.00} {$.price.currency}`. Literal braces are doubled.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from urllib.parse import quote, unquote, unquote_plus

from corral.domain.errors import BadInput
from corral.domain.json_path import ABSENT, SLOT, Absent, Path, Slots, at, display_text, path_text, scan_path
from corral.domain.net.url import Target

_SLOT_REF = re.compile(rf"\{{\{{|\}}\}}|\{{({SLOT})\}}|[{{}}]")
_NUMBER_SLOT = re.compile(rf"\{{({SLOT}):number\}}")
_FORMAT = re.compile(r"(?:1([,.' ])000|0)(?:([.,])(0{1,6}))?")
_PLAIN_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,12})?")
_DIGITS = re.compile(r"[0-9]+")
_QUERY_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


# -- slots --------------------------------------------------------------------------------------------------


def segments(path: str) -> list[str]:
    return [unquote(each) for each in path.strip("/").split("/")] if path.strip("/") else []


def query_pairs(query: str | None) -> list[tuple[str, str]]:
    if not query:
        return []
    pairs = [piece.partition("=") for piece in query.split("&") if piece]
    return [(unquote_plus(name), unquote_plus(value)) for name, _, value in pairs]


def fragment_of(target: Target) -> str:
    return target.url.partition("#")[2]


def slots_of(target: Target) -> dict[str, str]:
    """Return all values that a recipe may take from the URL of its page."""
    slots = {"origin": target.origin}
    for kind, text in (("path", target.path), ("hash", fragment_of(target))):
        for position, segment in enumerate(segments(text)):
            slots |= _segment_slots(f"{kind}.{position}", segment)
    pairs = query_pairs(target.query)
    names = [name for name, _ in pairs]
    slots |= {f"query.{name}": value for name, value in pairs if _QUERY_NAME.fullmatch(name) and names.count(name) == 1}
    return slots


def _segment_slots(name: str, segment: str) -> dict[str, str]:
    """Return the segment and its possible ids: its only number, or the segment without its extension."""
    slots = {name: segment}
    numbers = _DIGITS.findall(segment)
    if len(numbers) == 1 and numbers[0] != segment:
        slots[f"{name}.digits"] = numbers[0]
    stem, dot, _ = segment.rpartition(".")
    if dot and stem:
        slots[f"{name}.stem"] = stem
    return slots


def escape(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def slots_in(text: str) -> set[str]:
    return {match[1] for match in _SLOT_REF.finditer(text) if match[1]}


def check_slots(text: str, field: str) -> str:
    """Return the text; BadInput if a brace is neither a slot nor doubled."""
    for match in _SLOT_REF.finditer(text):
        if match[0] in ("{", "}"):
            raise BadInput(
                f"{text[:100]!r} has a brace that opens no slot",
                field=field,
                hint="slots are {origin}, {path.0}, {query.NAME} and {hash.0}; write a literal brace twice",
            )
    return text


def fill(text: str, slots: Slots, *, quoted: bool) -> str | None:
    """Fill the slots of a text; None if the page lacks one."""
    if not slots_in(text) <= slots.keys():
        return None

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if not name:
            return match[0][0]
        return quote(slots[name], safe="") if quoted and name != "origin" else slots[name]

    return _SLOT_REF.sub(value, text)


def fill_document(value: Any, slots: Slots) -> Any:
    """Fill the slots in the strings of a JSON body; ABSENT if the page lacks one."""
    if isinstance(value, dict):
        document = {key: fill_document(each, slots) for key, each in value.items()}
        return ABSENT if ABSENT in document.values() else document
    if isinstance(value, list):
        listed = [fill_document(each, slots) for each in value]
        return ABSENT if ABSENT in listed else listed
    if not isinstance(value, str):
        return value
    number = _NUMBER_SLOT.fullmatch(value)
    if number is None:
        text = fill(value, slots, quoted=False)
        return ABSENT if text is None else text
    digits = slots.get(number[1], "")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else ABSENT


# -- how pages write values ---------------------------------------------------------------------------------


def number_of(value: Any) -> Decimal | None:
    if isinstance(value, str):
        text = value.strip()
        return Decimal(text) if _PLAIN_NUMBER.fullmatch(text) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = Decimal(repr(value))
    return number if number.is_finite() and abs(number) < Decimal(10) ** 18 else None


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """The way a page writes a number, shown by the example of a thousand or zero: `1,000.00`, `0,0`, `1 000`."""

    decimals: int
    point: str = "."
    group: str = ""

    @property
    def text(self) -> str:
        whole = f"1{self.group}000" if self.group else "0"
        return whole + (self.point + "0" * self.decimals if self.decimals else "")

    def write(self, value: Any) -> str | None:
        number = number_of(value)
        if number is None:
            return None
        rounded = number.quantize(Decimal(1).scaleb(-self.decimals), rounding=ROUND_HALF_UP)
        whole, _, rest = f"{rounded:,.{self.decimals}f}".partition(".")
        return whole.replace(",", self.group) + (self.point + rest if rest else "")


def parse_format(text: str) -> NumberFormat | None:
    match = _FORMAT.fullmatch(text)
    if match is None or (match[1] and match[1] == match[2]):
        return None
    return NumberFormat(len(match[3] or ""), match[2] or ".", match[1] or "")


@dataclass(frozen=True, slots=True)
class Ref:
    path: Path
    number: NumberFormat | None = None

    @property
    def text(self) -> str:
        return path_text(self.path) + (f":{self.number.text}" if self.number else "")


Template = tuple[str | Ref, ...]


def template_text(template: Template) -> str:
    return "".join(escape(part) if isinstance(part, str) else f"{{{part.text}}}" for part in template)


def parse_template(text: str, field: str) -> Template:
    parts: list[str | Ref] = []
    literal, position = "", 0
    while position < len(text):
        char = text[position]
        if char in "{}" and text.startswith(char * 2, position):
            literal, position = literal + char, position + 2
        elif char in "{}":
            ref, position = _scan_ref(text, position, field)
            parts += [literal, ref] if literal else [ref]
            literal = ""
        else:
            literal, position = literal + char, position + 1
    parts += [literal] if literal else []
    if not any(isinstance(part, Ref) for part in parts):
        raise BadInput(
            f"{text[:100]!r} takes nothing from the answer", field=field, hint="for example {$.price.amount}"
        )
    return tuple(parts)


def _scan_ref(text: str, start: int, field: str) -> tuple[Ref, int]:
    scanned = scan_path(text, start + 1) if text[start] == "{" else None
    if scanned is not None:
        path, position = scanned
        end = text.find("}", position)
        if end == position:
            return Ref(path), end + 1
        number = parse_format(text[position + 1 : end]) if end > 0 and text[position] == ":" else None
        if number is not None:
            return Ref(path, number), end + 1
    raise BadInput(
        f"{text[start : start + 60]!r} is not a path with an optional number format",
        field=field,
        hint="for example {$.price.amount:0.00}; write a literal brace twice",
    )


def render_template(template: Template, document: Any, slots: Slots) -> str | Absent | None:
    """Return the text of a field; None if one of its values is empty, ABSENT if the answer has another shape."""
    pieces: list[str] = []
    for part in template:
        if isinstance(part, str):
            pieces.append(part)
            continue
        value = at(document, part.path, slots)
        if value is ABSENT or isinstance(value, dict | list):
            return ABSENT
        text = part.number.write(value) if part.number else display_text(value)
        if text is None:
            return None if value in (None, "") or not part.number else ABSENT
        pieces.append(text)
    return "".join(pieces)


def paths_of(template: Template) -> Sequence[Path]:
    return [part.path for part in template if isinstance(part, Ref)]
