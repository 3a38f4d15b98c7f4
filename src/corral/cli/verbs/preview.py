"""`corral preview`: show the fields, selectors and lists of a page, as a help for writing a job."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.job_draft import trust_typed_host
from corral.cli.options import AsJson
from corral.cli.preflight import check_host
from corral.cli.progress import run as progress
from corral.cli.running import finish
from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.extract.selectors.spec import check_xpath, compile_check
from corral.log import configure_logging
from corral.settings import Settings, load_settings
from corral.views.previews import preview_read
from corral.wiring.roles import open_client

_SELECTOR = re.compile(r"[.#\[:]|^[a-z][a-z0-9]*(?:\s*[>+~]|$)")
_MAX_CELL = 60
_NO_BROWSER = "install one with `python -m playwright install chromium`, or leave out --browser"


@dataclass(frozen=True, kw_only=True)
class PreviewOptions:
    url: Annotated[str, typer.Argument(metavar="URL", help="The page to look at.")]
    click: Annotated[
        str | None,
        typer.Option(
            "--click",
            metavar="CSS|XPATH|TEXT",
            help="Selectors for this element, and for all like it. XPath begins with /; text=… is always a text.",
        ),
    ] = None
    browser: Annotated[bool, typer.Option("--browser", help="Look with the browser, after its scripts have run.")] = (
        False
    )
    as_json: AsJson = False


def preview(options: PreviewOptions) -> None:
    """Show what a page offers: fields, selectors, lists.

    Lists are repeated items, printed as a recipe file. Each selector is tried on two more pages of the template.
    URL may be a private address, because you typed it; only that host is reachable. Nothing is stored.
    Exit code: 0 shown, 1 the page could not be fetched.

    \b
    corral preview https://example.com/product/1
    corral preview https://example.com/product/1 --click ".price"
    corral preview https://example.com/product/1 --click "text=12.50 EUR" --json
    """
    settings = load_settings()
    click = None if options.click is None else parse_click(options.click)
    finish(_preview(settings, options, click))


def parse_click(text: str) -> FieldSpec:
    """Return the clicked element as a field: by XPath, by CSS selector if the text looks like one, or by its text."""
    if text.startswith(("/", "(/", "./")):
        return FieldSpec("click", xpath=check_xpath(text, field="click"))
    if text.startswith("text="):
        return FieldSpec("click", const=text.removeprefix("text="))
    if _SELECTOR.search(text):
        try:
            return FieldSpec("click", css=compile_check(text, field="click"))
        except BadInput:
            if " " not in text:
                raise
    return FieldSpec("click", const=text)


async def _preview(settings: Settings, options: PreviewOptions, click: FieldSpec | None) -> int:
    configure_logging("error")
    trusted = trust_typed_host(settings, options.url)
    await check_host(settings, options.url, trusted)
    async with open_client(settings) as app:
        try:
            with progress.waiting(f"looking at {options.url}"):
                template = await app.previews.look_at_template(
                    options.url, prefer_browser=options.browser, click=click, trusted_hosts=trusted
                )
        except BadInput as problem:
            if problem.code in ("strategy_unavailable", "no_match"):
                hint = _NO_BROWSER if problem.code == "strategy_unavailable" else problem.hint
                raise BadInput(problem.message, field=problem.field, hint=hint) from None
            exits.complain(f"the page could not be fetched: {problem.message}", problem.hint)
            return exits.FAILED
    document = preview_read(template)
    if options.as_json:
        render.print_json(document)
    else:
        _print(document)
    return exits.DONE


def _print(document: dict[str, Any]) -> None:
    print(f"{document['url']} ({document['fetched_via']})")
    if document["clicked"] is not None:
        print(f"<{document['clicked']['tag']}> {render.printable(document['clicked']['text'], _MAX_CELL)}")
    print()
    rows = [_row(each) for each in document["suggestions"]]
    render.print_table(("field", "selector", "sure", "here…", "on other pages…"), rows)
    for offered in document["lists"]:
        counts = ", ".join(map(str, offered["rows_on"]))
        print(f"\n{offered['count']} repeated items (rows by page: {counts}); as a recipe file:\n")
        print(_yaml({"fields": [offered["recipe"]]}))
    for note in filter(None, (document["pages_note"], *document["warnings"])):
        print(f"note: {note}")


def _row(suggestion: dict[str, Any]) -> tuple[str, str, str, str, str]:
    attr = f"@{suggestion['attr']}" if suggestion["attr"] else ""
    regex = f" regex {suggestion['regex']}" if suggestion["regex"] else ""
    here, *others = [render.printable(_text(value), _MAX_CELL) for value in suggestion["values"]]
    label = f"{suggestion['label']}{' (all)' if suggestion['all'] else ''}"
    return (
        label,
        f"{suggestion['css'] or suggestion['xpath']}{attr}{regex}",
        f"{suggestion['confidence']:.2f}",
        here,
        " | ".join(others),
    )


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "-" if value is None else str(value)


def _yaml(document: dict[str, Any]) -> str:
    import yaml  # noqa: PLC0415 - most commands need none

    return str(yaml.safe_dump(document, allow_unicode=True, sort_keys=False))
