"""The content of the site: sixty articles and forty-eight products, the same at every start."""

import random
import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

Words = dict[str, str]

ARTICLE_COUNT = 60
PRODUCT_COUNT = 48

_FIRST_ARTICLE_ON = date(2023, 2, 6)
_AUTHORS = ("Ada Lindqvist", "Tomás Arreola", "Priya Raman", "Joss Whitcombe", "Mei-Lin Zhou", "Okoro Ndiaye")
_TAGS = ("grazing", "fencing", "horses", "water", "soil", "weather", "tools", "markets", "history", "dogs")

_TITLE_SHAPES = (
    "What the {season} taught us about {subject}",
    "{subject} in {place}: a field report",
    "The case for {quality} {subject}",
    "How {place} learned to love {subject}",
    "A {quality} guide to {subject}",
    "Why {subject} still matter in {place}",
)
_SENTENCES = (
    "In {place}, {subject} used to be a matter of habit rather than of planning.",
    "The {season} came {manner}, and with it the first real test of the new {tool}.",
    "No one on the farm had expected {subject} to change things this {adverb}.",
    "{person} keeps a notebook in the cab of the truck and writes down every {tool} that fails.",
    "By the end of the {season} the herd had moved {number} times between the same three paddocks.",
    "A {quality} {tool} costs more at first, but the repair bill over {number} years tells another story.",
    "We walked the boundary with {person}, counted {number} posts and replaced two of them.",
    "Ask five neighbours about {subject} and you will hear six opinions, most of them {quality}.",
    "The figures are modest: {number} animals, one {tool}, and a great deal of patience.",
    "What surprised {person} most was how {adverb} the ground recovered after the rain.",
    "There is no single answer, but a {quality} start is to measure before buying another {tool}.",
    "Older maps of {place} show a well near the gate, and the water is still there.",
    "That is why {subject} belong in the first conversation, not in the last one.",
)
_SLOTS: dict[str, tuple[str, ...]] = {
    "season": ("dry spring", "long winter", "wet autumn", "late summer", "early thaw"),
    "subject": (
        "grazing plans", "drystone walls", "herding dogs", "rain barrels", "hay barns", "horse paths",
        "electric fences", "laid hedges", "night pens", "salt licks", "winter rations",
    ),
    "place": ("Harrow Valley", "the Brennick hills", "Lower Casterly", "Odel Marsh", "Saint Ivo"),
    "quality": ("practical", "patient", "stubborn", "modest", "careful", "portable"),
    "adverb": ("slowly", "quickly", "quietly", "steadily"),
    "manner": ("slowly", "quietly", "all at once", "without warning", "steadily"),
    "tool": ("gate latch", "water pump", "fence charger", "hay fork", "saddle rack", "trough valve"),
    "person": ("Marta Oyelaran", "old Joseph Fenn", "the shepherd", "our neighbour Ilse", "Rafael Duarte"),
    "number": ("seven", "twelve", "nineteen", "thirty", "forty-two", "sixty"),
}  # fmt: skip
_MATERIALS = ("Oak", "Steel", "Canvas", "Leather", "Copper", "Wool", "Cedar", "Brass")
_GOODS = ("Gate Latch", "Feed Bucket", "Lead Rope", "Saddle Rack", "Trough Valve", "Hay Net", "Lantern")


@dataclass(frozen=True, slots=True)
class DemoArticle:
    number: int
    slug: str
    title: str
    description: str
    author: str
    published_on: date
    tags: tuple[str, ...]
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Product:
    id: int
    name: str
    amount: str
    currency: str
    stock: int
    rating: float
    description: str

    def document(self) -> dict[str, object]:
        return {
            "id": self.id,
            "name": self.name,
            "price": {"amount": self.amount, "currency": self.currency},
            "stock": self.stock,
            "rating": self.rating,
            "description": self.description,
        }


@cache
def articles() -> tuple[DemoArticle, ...]:
    """Return all articles, oldest first."""
    rng = random.Random(1907)
    topics: dict[str, Words] = {}
    while len(topics) < ARTICLE_COUNT:
        words = _choose(rng)
        topics[_fill(rng.choice(_TITLE_SHAPES), words)] = words
    return tuple(_article(number, *topic) for number, topic in enumerate(topics.items(), start=1))


@cache
def articles_by_slug() -> dict[str, DemoArticle]:
    return {article.slug: article for article in articles()}


@cache
def products() -> tuple[Product, ...]:
    rng = random.Random(4711)
    names = [f"{material} {good}" for material in _MATERIALS for good in _GOODS]
    rng.shuffle(names)
    return tuple(_product(number, name) for number, name in enumerate(names[:PRODUCT_COUNT], start=1))


def _article(number: int, title: str, words: Words) -> DemoArticle:
    rng = random.Random(number)
    topic = {"subject": words["subject"], "place": words["place"]}
    paragraphs = tuple(_paragraph(rng, topic) for _ in range(rng.randint(4, 7)))
    return DemoArticle(
        number=number,
        slug=f"{number:02d}-{_slug_of(title)}",
        title=title,
        description=paragraphs[0].split(". ")[0].rstrip(".") + ".",
        author=rng.choice(_AUTHORS),
        published_on=_FIRST_ARTICLE_ON + timedelta(days=9 * (number - 1)),
        tags=tuple(sorted(rng.sample(_TAGS, rng.randint(2, 4)))),
        paragraphs=paragraphs,
    )


def _product(number: int, name: str) -> Product:
    rng = random.Random(number)
    return Product(
        id=number,
        name=name,
        amount=f"{rng.randint(4, 180)}.{rng.choice(('00', '50', '90', '95'))}",
        currency="EUR",
        stock=rng.randint(0, 120),
        rating=round(rng.uniform(2.5, 5.0), 1),
        description=_paragraph(rng, {}, sentence_count=2),
    )


def _paragraph(rng: random.Random, topic: Words, sentence_count: int | None = None) -> str:
    shapes = rng.sample(_SENTENCES, sentence_count or rng.randint(3, 6))
    return " ".join(_fill(shape, _choose(rng) | topic) for shape in shapes)


def _choose(rng: random.Random) -> Words:
    return {slot: rng.choice(words) for slot, words in _SLOTS.items()}


def _fill(shape: str, words: Words) -> str:
    text = shape.format_map(words)
    return text[0].upper() + text[1:]


def _slug_of(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
