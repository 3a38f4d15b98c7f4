"""Check the selectors of a field when a job is saved: an invalid one is refused with the position of the error."""

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from corral.domain.errors import BadInput
from corral.domain.fields.own_code import check_code
from corral.domain.fields.patterns import check_pattern
from corral.domain.fields.spec import MAX_SELECTOR_CHARS, FieldSpec
from corral.domain.json_path import parse_query
from corral.extract.selectors.xpath_grammar import find_mistake

_CSS = "use standard CSS such as `.price` or `a.next`; an attribute goes in `attr`, not `::attr()`"
_XPATH = "use XPath 1.0 with its core functions, such as //h1 or //a[@rel='next']/@href"


def check_spec(spec: FieldSpec, *, field: str) -> None:
    """Check the recipe of a field; raise BadInput with the first error."""
    kinds = [kind for kind in ("css", "xpath", "jsonpath") if getattr(spec, kind) is not None]
    if len(kinds) > 1:
        raise _bad(f"{' and '.join(kinds)} each locate the field", field, "give one of them")
    if spec.attr is not None and spec.jsonpath is not None:
        raise _bad("attr takes an attribute of an element, and jsonpath finds none", field, "leave attr out")
    if spec.is_code:
        check_code(spec)
    _check_selectors(spec, field)
    if spec.regex is not None:
        check_pattern(spec.regex, field=f"{field}.regex")
    if spec.rules is not None and spec.rules.pattern is not None:
        check_pattern(spec.rules.pattern, field=f"{field}.rules.pattern")
    for name, others in (("fields", spec.fields), ("fallbacks", spec.fallbacks)):
        for index, other in enumerate(others):
            check_spec(other, field=f"{field}.{name}.{index}")


def _check_selectors(spec: FieldSpec, field: str) -> None:
    if spec.css is not None:
        compile_check(spec.css, field=field)
    if spec.xpath is not None:
        check_xpath(spec.xpath, field=field)
    if spec.jsonpath is not None:
        parse_query(spec.jsonpath, field=field)


def compile_check(css: str, *, field: str = "fields") -> str:
    """Return the selector unchanged; raise BadInput if it cannot be compiled."""
    if len(css) > MAX_SELECTOR_CHARS:
        raise _too_long("CSS selector", css, field)
    if not css.strip() or not css.isprintable() or not _compiles(css):
        where = f"the CSS selector {css[:100]!r} cannot be read beyond position {_readable(css)}"
        raise _bad(where, field, _CSS)
    return css


def check_xpath(expression: str, *, field: str = "fields") -> str:
    """Return the expression unchanged; raise BadInput with the position of the first error."""
    if len(expression) > MAX_SELECTOR_CHARS:
        raise _too_long("XPath expression", expression, field)
    mistake = find_mistake(expression)
    if mistake is not None:
        raise _bad(
            f"the XPath expression cannot be read at position {mistake.position}: {mistake.reason}", field, _XPATH
        )
    return expression


def _compiles(css: str, tree: LexborHTMLParser | None = None) -> bool:
    try:
        (tree or LexborHTMLParser("<p></p>")).css_first(css)
    except (SelectolaxError, ValueError):
        return False
    return True


def _readable(css: str) -> int:
    """Return the length of the longest prefix that is a valid selector: the parser does not report where it stopped."""
    tree = LexborHTMLParser("<p></p>")
    starts = (css[:end] for end in range(len(css) - 1, 0, -1))
    return next((len(start) for start in starts if start.strip() and start.isprintable() and _compiles(start, tree)), 0)


def _too_long(what: str, text: str, field: str) -> BadInput:
    message = f"the {what} has {len(text)} characters, more than {MAX_SELECTOR_CHARS}"
    return _bad(message, field, f"use a shorter {what.rsplit(maxsplit=1)[-1]}")


def _bad(message: str, field: str, hint: str) -> BadInput:
    return BadInput(message, field=field, hint=hint, code="bad_selector")
