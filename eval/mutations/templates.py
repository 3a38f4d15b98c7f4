"""Thirty templates: ten kinds of pages in three locales each, with values that vary from run to run."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from corral.domain.fields.spec import FieldSpec


@dataclass(frozen=True, slots=True)
class Locale:
    language: str
    currency: str
    decimal: str
    date_format: str
    words: tuple[str, ...]


_DE = "Haus Garten blau Stuhl Werkzeug leicht Kaffee alt Berg Straße modern Licht Reise Stadt Musik grün neu"
_EN = "house garden blue chair tool light coffee vintage mountain street modern lamp travel city music green"
_FR = "maison jardin bleu chaise outil léger café ancien montagne rue moderne lampe voyage ville musique vert"
_JA = "家 庭 青い 椅子 道具 軽い 珈琲 古い 山 通り 新しい 光 旅行 町 音楽 緑"
LOCALES = {
    "de": Locale("de", "€", ",", "%d.%m.%Y", tuple(_DE.split())),
    "en": Locale("en", "$", ".", "%m/%d/%Y", tuple(_EN.split())),
    "fr": Locale("fr", "€", ",", "%d/%m/%Y", tuple(_FR.split())),
    "gb": Locale("en", "£", ".", "%d/%m/%Y", tuple(_EN.split())),
    "ja": Locale("ja", "¥", ".", "%Y-%m-%d", tuple(_JA.split())),
}
Maker = Callable[[random.Random, Locale], str]


@dataclass(frozen=True, slots=True)
class TemplateField:
    name: str
    make: Maker
    fill: float = 1.0  # how many pages have it
    type: str | None = None
    is_stable: bool = False  # the same on every visit of the page

    @property
    def is_amount(self) -> bool:
        return self.name in {"price", "sale_price", "value", "salary"}

    @property
    def spec(self) -> FieldSpec:
        return FieldSpec(self.name, css=f".{self.name}", type=self.type, optional=self.fill < 1)


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    locale: Locale
    fields: tuple[TemplateField, ...]
    pages: int  # of a run, about

    @property
    def specs(self) -> tuple[FieldSpec, ...]:
        return tuple(field.spec for field in self.fields)


def words(low: int, high: int) -> Maker:
    return lambda rng, locale: " ".join(rng.choice(locale.words) for _ in range(rng.randint(low, high))).capitalize()


def text(low: int, high: int) -> Maker:
    def make(rng: random.Random, locale: Locale) -> str:
        return ". ".join(words(5, 14)(rng, locale) for _ in range(rng.randint(low, high))) + "."

    return make


def amount(low: float, high: float) -> Maker:
    """A number written in the locale, of a skewed distribution, as prices have."""

    def make(rng: random.Random, locale: Locale) -> str:
        number = low * (high / low) ** rng.random()
        written = f"{number:,.2f}"
        return written if locale.decimal == "." else written.translate(str.maketrans(",.", ".,"))

    return make


def price(low: float, high: float) -> Maker:
    def make(rng: random.Random, locale: Locale) -> str:
        number = amount(low, high)(rng, locale)
        return f"{number} {locale.currency}" if locale.decimal == "," else f"{locale.currency}{number}"

    return make


def count(low: int, high: int) -> Maker:
    return lambda rng, _: str(rng.randint(low, high))


def day(spread: int) -> Maker:
    return lambda rng, locale: (date(2026, 6, 1) + timedelta(rng.randint(-spread, spread))).strftime(locale.date_format)


def person() -> Maker:
    first = ("Ana", "Bob", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana", "Ida", "Jun")
    last = ("Meyer", "Smith", "Dupont", "Sato", "Novak", "Silva", "Khan", "Rossi")
    return lambda rng, _: f"{rng.choice(first)} {rng.choice(last)}"


def link() -> Maker:
    return lambda rng, _: f"https://img.example/{rng.randint(1000, 9999)}.jpg"


def code() -> Maker:
    return lambda rng, _: f"{rng.choice('ABCDEF')}{rng.choice('XYZ')}-{rng.randint(1000, 9999)}"


def _field(
    name: str, make: Maker, fill: float = 1.0, *, type_: str | None = None, stable: bool = False
) -> TemplateField:
    return TemplateField(name, make, fill, type_, stable)


_TITLE = _field("title", words(2, 6), stable=True)
_DATE = _field("date", day(300), stable=True)
_KINDS: dict[str, tuple[TemplateField, ...]] = {
    "shop": (_TITLE, _field("price", price(3, 2000)), _field("sale_price", price(2, 900), 0.3), _field("sku", code())),
    "typed_shop": (_TITLE, _field("price", price(3, 2000), type_="money"), _field("text", text(2, 8), stable=True)),
    "article": (_TITLE, _field("author", person(), 0.9), _DATE, _field("text", text(5, 30))),
    "typed_article": (_TITLE, _field("author", person()), _field("date", day(300), type_="date", stable=True)),
    "table": (
        _field("name", words(1, 3), stable=True),
        _field("value", amount(1, 50_000)),
        _field("unit", words(1, 1)),
    ),
    "listing": (
        _TITLE,
        _field("price", price(100_000, 900_000)),
        _field("area", count(30, 250)),
        _field("image", link()),
    ),
    "event": (_TITLE, _DATE, _field("place", words(1, 4)), _field("price", price(5, 200), 0.7)),
    "job": (_TITLE, _field("company", words(1, 3)), _DATE, _field("salary", price(20_000, 120_000), 0.5)),
    "forum": (_TITLE, _field("author", person()), _field("replies", count(0, 400)), _field("text", text(1, 12))),
    "recipe": (
        _TITLE,
        _field("minutes", count(5, 180)),
        _field("text", text(4, 15)),
        _field("rating", amount(2, 5), 0.8),
    ),
}
_PAGES = {"shop": 20, "table": 30, "listing": 12, "event": 8, "job": 16, "forum": 24}
_LOCALES = (("de", 0), ("en", 1), ("fr", 0), ("gb", 1), ("ja", 0))


def make_templates() -> list[Template]:
    """Every kind in three locales; one of the three is a job of one page."""
    templates = []
    for number, (kind, fields) in enumerate(_KINDS.items()):
        for variant in range(3):
            name = _LOCALES[(number + variant) % len(_LOCALES)][0]
            pages = 1 if variant == 2 else _PAGES.get(kind, 14) // (1 + variant)
            templates.append(Template(f"{kind}-{name}-{pages}", LOCALES[name], fields, pages))
    return templates
