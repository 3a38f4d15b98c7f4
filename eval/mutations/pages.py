"""Runs of a template: its pages as HTML, read by the selectors of its fields; some of them broken on purpose."""

import html
import random
import re
from collections.abc import Callable
from typing import Any

from corral.domain.quality.value_shape import describe_value, swap_date
from corral.extract.fields.extract import extract_from
from corral.extract.page import Page
from eval.mutations.templates import Template, TemplateField

Values = dict[str, str]
Mutation = Callable[[random.Random, Template, list[Values]], "list[str] | None"]
_LABELS = {"de": "Angabe", "en": "Label", "fr": "Mention", "ja": "項目"}
_NOT_FOUND = {
    "de": "Seite nicht gefunden",
    "en": "Page not found",
    "fr": "Page introuvable",
    "ja": "ページが見つかりません",
}
_LOGIN = {"de": "Bitte anmelden", "en": "Sign in to continue", "fr": "Connectez-vous", "ja": "ログインしてください"}
_BUTTON = {"de": "In den Warenkorb", "en": "Add to cart", "fr": "Ajouter au panier", "ja": "カートに入れる"}


class Site:
    """One site of a template: its pages keep their stable values from run to run."""

    def __init__(self, template: Template, seed: int) -> None:
        self._template = template
        self._rng = random.Random(f"{template.name}:{seed}")
        self._stable = [self._make_stable() for _ in range(2 * template.pages)]

    def visit(self) -> list[Values]:
        """The values of one run: items come and go, prices change, optional fields are there or not."""
        rng, template = self._rng, self._template
        wanted = template.pages if template.pages == 1 else round(template.pages * rng.uniform(0.7, 1.3))
        first = 0 if template.pages == 1 else rng.randrange(len(self._stable) - wanted + 1)
        return [self._visit_page(self._stable[number]) for number in range(first, first + wanted)]

    def _make_stable(self) -> Values:
        return {field.name: self._make(field) for field in self._template.fields}

    def _visit_page(self, stable: Values) -> Values:
        values = {}
        for field in self._template.fields:
            if self._rng.random() > field.fill:
                continue
            # A job of one page sees the same page: its texts rarely change, its prices a little.
            is_same = field.is_stable or (self._template.pages == 1 and self._rng.random() < 0.6)
            made = stable[field.name] if is_same else self._make(field)
            if self._template.pages == 1 and field.is_amount and not is_same:
                made = self._make_near(field, stable[field.name])
            values[field.name] = made
        return values

    def _make_near(self, field: TemplateField, value: str) -> str:
        """An amount that differs from the one before by less than a third or so."""
        before = describe_value(value).size or 1.0
        made = self._make(field)
        while not 0.7 <= (describe_value(made).size or 1.0) / before <= 1.4:
            made = self._make(field)
        return made

    def _make(self, field: TemplateField) -> str:
        return field.make(self._rng, self._template.locale)


def render(template: Template, values: Values, *, markup: dict[str, str] | None = None) -> str:
    """One page. `markup` replaces the element of a field."""
    parts = []
    for field in template.fields:
        if markup is not None and field.name in markup:
            parts.append(markup[field.name])
        elif field.name in values:
            parts.append(f'<p class="{field.name}">{html.escape(values[field.name])}</p>')
    language = template.locale.language
    head = f'<nav><a href="/">Home</a> <a href="/c">{template.locale.words[0]}</a></nav>'
    body = f"<main>{''.join(parts)}<button>{_BUTTON[language]}</button></main>"
    return f'<html lang="{language}"><body>{head}{body}<footer>© 2026</footer></body></html>'


def read(template: Template, pages: list[str]) -> list[dict[str, Any]]:
    specs = template.specs
    return [extract_from(Page(page, "https://x.example/"), specs).record for page in pages]


def _find(template: Template, run: list[Values], matches: Callable[[str], bool]) -> str | None:
    """A required field whose values match."""
    for field in template.fields:
        if field.fill == 1 and all(matches(values.get(field.name, "")) for values in run):
            return field.name
    return None


def _choose(rng: random.Random, template: Template) -> str:
    return rng.choice([field.name for field in template.fields if field.fill == 1])


def _with_markup(template: Template, run: list[Values], name: str, make: Callable[[Values], str]) -> list[str]:
    return [render(template, values, markup={name: make(values)}) for values in run]


def _with_value(template: Template, run: list[Values], name: str, change: Callable[[str], str]) -> list[str]:
    return [render(template, {**values, name: change(values[name])}) for values in run]


def rename_class(rng: random.Random, template: Template, run: list[Values]) -> list[str]:
    name = _choose(rng, template)
    return _with_markup(template, run, name, lambda values: f'<p class="x-{name}">{html.escape(values[name])}</p>')


def point_elsewhere(rng: random.Random, template: Template, run: list[Values]) -> list[str]:
    """The class is now that of a button."""
    name = _choose(rng, template)
    other = _BUTTON[template.locale.language]
    return _with_markup(template, run, name, lambda _: f'<p class="{name}">{other}</p>')


def wrap(rng: random.Random, template: Template, run: list[Values]) -> list[str]:
    name, label = _choose(rng, template), _LABELS[template.locale.language]
    return _with_markup(
        template, run, name, lambda values: f'<p class="{name}"><b>{label}:</b> <i>{html.escape(values[name])}</i></p>'
    )


def drop(rng: random.Random, template: Template, run: list[Values]) -> list[str]:
    name = _choose(rng, template)
    return _with_markup(template, run, name, lambda _: "")


def swap_currency(_rng: random.Random, template: Template, run: list[Values]) -> list[str] | None:
    name = _find(template, run, lambda value: template.locale.currency in value)
    other = "$" if template.locale.currency != "$" else "€"
    return (
        None
        if name is None
        else _with_value(template, run, name, lambda value: value.replace(template.locale.currency, other))
    )


def show_not_found(_rng: random.Random, template: Template, run: list[Values]) -> list[str]:
    return [_show_message(template, _NOT_FOUND) for _ in run]


def ask_for_login(_rng: random.Random, template: Template, run: list[Values]) -> list[str]:
    return [_show_message(template, _LOGIN) for _ in run]


def _show_message(template: Template, messages: dict[str, str]) -> str:
    return render(template, {template.fields[0].name: messages[template.locale.language]})


def lose_half_of_items(_rng: random.Random, template: Template, run: list[Values]) -> list[str] | None:
    return [render(template, values) for values in run[: len(run) // 2]] if template.pages >= 6 else None


def lose_half_of_values(rng: random.Random, template: Template, run: list[Values]) -> list[str] | None:
    if template.pages < 6:
        return None
    name = _choose(rng, template)
    kept = {number for number in range(len(run)) if number % 2}
    return [
        render(template, {key: value for key, value in values.items() if key != name or number in kept})
        for number, values in enumerate(run)
    ]


def change_number_format(_rng: random.Random, template: Template, run: list[Values]) -> list[str] | None:
    name = _find(template, run, lambda value: re.search(r"\d[.,]\d\d(?!\d)", value) is not None)
    return (
        None
        if name is None
        else _with_value(template, run, name, lambda value: value.translate(str.maketrans(",.", ".,")))
    )


def swap_dates(_rng: random.Random, template: Template, run: list[Values]) -> list[str] | None:
    name = _find(template, run, lambda value: swap_date(value) is not None or value.count("/") == 2)
    return None if name is None else _with_value(template, run, name, lambda value: swap_date(value) or value)


def truncate(rng: random.Random, template: Template, run: list[Values]) -> list[str] | None:
    name = _find(template, run, lambda value: len(value) >= 60)
    end = rng.choice(("", "…", "..."))
    return (
        None
        if name is None
        else _with_value(template, run, name, lambda value: value[: max(20, len(value) // 3)] + end)
    )


def fill_in(rng: random.Random, template: Template, run: list[Values]) -> list[str]:
    name = _choose(rng, template)
    is_price = any(template.locale.currency in values[name] for values in run)
    value = "0.00 " + template.locale.currency if is_price else rng.choice(("N/A", "Lorem ipsum dolor sit amet", "-"))
    return _with_value(template, run, name, lambda _: value)


def repeat_value(rng: random.Random, template: Template, run: list[Values]) -> list[str] | None:
    if template.pages < 6:
        return None
    name = rng.choice([field.name for field in template.fields if field.fill == 1 and field.name != "unit"])
    return _with_value(template, run, name, lambda _: run[0][name])


MUTATIONS: dict[str, Mutation] = {
    "class renamed": rename_class,
    "class elsewhere": point_elsewhere,
    "element wrapped": wrap,
    "field dropped": drop,
    "currency swapped": swap_currency,
    "soft 404": show_not_found,
    "login wall": ask_for_login,
    "half of the items": lose_half_of_items,
    "half of the values": lose_half_of_values,
    "number format": change_number_format,
    "date order": swap_dates,
    "text truncated": truncate,
    "placeholder": fill_in,
    "same value": repeat_value,
}
