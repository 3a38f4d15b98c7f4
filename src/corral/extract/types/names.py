"""The type `name`: the parts of a person's name, by the library nameparser."""

import re
from collections.abc import Mapping
from typing import Any

from corral.extract.types.characters import MAX_SHORT_CHARS, collapse_spaces
from corral.extract.types.locales import split_tag
from corral.extract.types.model import Converted, TypeContext, fail

_PARTS = ("given", "family", "prefix", "suffix")
_SCHEMA_KEYS = {"given": "givenName", "family": "familyName", "prefix": "honorificPrefix", "suffix": "honorificSuffix"}
_BY = re.compile(
    r"(?:(?P<sure>by|(?:written|posted) by|автор|autor|author|auteur|autore)|von|par|por|di|door|av|af|от)"
    r"\s*:?\s+(?=[^\W\d_])",
    re.IGNORECASE,
)
_TITLES = {
    "fr": {"m.", "mm.", "mme", "mlle", "me", "pr", "pr."},
    "es": {"sr.", "sra.", "srta.", "d.", "dña.", "don", "doña"},
    "it": {"sig.", "sig.ra", "dott.", "dott.ssa", "ing.", "avv."},
    "pt": {"sr.", "sra.", "d.", "dona", "dom"},
}
_AND = re.compile(r",?\s+(?:and|und|et|y|e|en|och|og|i|и|&)\s+|\s*[、;]\s*", re.IGNORECASE)
_FAMILY_FIRST = ("hu", "vi")
_NOT_IN_NAMES = re.compile(r"[\d@/\\<>{}\[\]|_=]")


def convert_name(raw: Any, context: TypeContext) -> Converted:
    if isinstance(raw, Mapping):
        return _convert_document(raw, context)
    if not isinstance(raw, str) or len(raw) > MAX_SHORT_CHARS:
        return fail("not_a_name" if not isinstance(raw, str) else "too_long")
    text = _strip_by(collapse_spaces(raw))
    if not text or _NOT_IN_NAMES.search(text) or not any(char.isalpha() for char in text):
        return fail("not_a_name")
    first, *others = _split_people(text)
    converted = _parse(first, split_tag(context.language)[0])
    if others and converted.value is not None:
        return Converted(converted.value, 0.5, (*converted.problems, "several_names"))
    return converted


def _strip_by(text: str) -> str:
    """Strip a leading `by`. `von` stays if it may belong to a family name: `von Goethe, Johann`, `von Trapp`."""
    match = _BY.match(text)
    if match is None:
        return text
    rest = text[match.end() :]
    return rest if match["sure"] or ("," not in text and " " in rest) else text


def _split_people(text: str) -> list[str]:
    """Split `Jane Doe and John Smith`, and `Jane Doe, John Smith` if both have a given name."""
    people = _AND.split(text)
    is_list = all(" " in piece.strip() for piece in text.split(",")) and not text[0].islower()
    if len(people) == 1 and is_list:
        people = text.split(",")
    return [piece.strip() for piece in people if piece.strip()]


def _parse(text: str, language: str) -> Converted:
    from nameparser import parse  # noqa: PLC0415

    prefix, text = _split_title(text, language)
    parsed = _parser(language).parse(text) if language in ("ru", "uk", "be", "zh", *_FAMILY_FIRST) else parse(text)
    given_name = " ".join(part for part in (parsed.given, parsed.middle) if part)
    title = " ".join(part for part in (prefix, parsed.title) if part)
    family = parsed.family
    if not given_name and not family:
        return fail("not_a_name")
    value = {
        "given": given_name or None,
        "family": family or None,
        "prefix": title or None,
        "suffix": parsed.suffix or None,
    }
    is_whole = bool(given_name and family)
    return Converted(value, 1.0 if is_whole else 0.6, () if is_whole else ("partial_name",))


def _split_title(text: str, language: str) -> tuple[str, str]:
    """Split off titles of the page's language that the library takes for initials: `M. Jean Dupont`."""
    first, _, rest = text.partition(" ")
    return (first, rest) if rest and first.lower() in _TITLES.get(language, ()) else ("", text)


def _parser(language: str) -> Any:
    from nameparser import FAMILY_FIRST, Parser, Policy, parser_for  # noqa: PLC0415
    from nameparser.locales import RU, ZH  # noqa: PLC0415

    if language in _FAMILY_FIRST:
        return Parser(policy=Policy(name_order=FAMILY_FIRST))
    return parser_for(ZH if language == "zh" else RU)


def _convert_document(raw: Mapping[Any, Any], context: TypeContext) -> Converted:
    """Convert an object of schema.org, or of an earlier conversion."""
    found = {part: raw.get(part) or raw.get(_SCHEMA_KEYS[part]) for part in _PARTS}
    if found["given"] or found["family"]:
        value = {
            part: collapse_spaces(text)[:MAX_SHORT_CHARS] if isinstance(text, str) else None
            for part, text in found.items()
        }
        return Converted(value) if value["given"] or value["family"] else fail("not_a_name")
    return convert_name(raw["name"], context) if isinstance(raw.get("name"), str) else fail("not_a_name")
