"""`corral site recipe`: show, edit, pin, release or forget one recipe."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import ReportOptions, check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.writable_store import open_writable_store
from corral.domain.errors import BadInput
from corral.domain.net.address import EgressPolicy
from corral.domain.sites.recipe.edit import check_edit
from corral.settings import Settings, load_settings
from corral.views.sites import recipe_read


@dataclass(frozen=True, kw_only=True)
class RecipeOptions:
    recipe_id: Annotated[str, typer.Argument(metavar="RECIPE", help="The id of a recipe; `corral site show HOST`.")]
    document: Annotated[
        Path | None, typer.Option("--document", metavar="FILE", help="The new recipe as JSON; - is standard input.")
    ] = None
    pin: Annotated[
        bool | None,
        typer.Option("--pin/--no-pin", help="Runs do not overwrite a pinned recipe; an edited one is pinned."),
    ] = None
    forget: Annotated[bool, typer.Option("--forget", help="Remove it; a browser run may record it again.")] = False
    report: ReportOptions


def recipe(options: RecipeOptions) -> None:
    """Show a recipe, or change its request and field paths.

    \b
    corral site recipe 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b > recipe.json
    corral site recipe 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --document recipe.json
    corral site recipe 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --no-pin
    """

    recipe_id, document, pin = check_id(options.recipe_id, "recipe"), options.document, options.pin
    if options.forget and (document is not None or pin is not None):
        raise BadInput("--forget cannot be combined with a change", field="forget", hint="give --forget alone")
    settings = load_settings()
    if options.forget:
        finish(_forget(settings, recipe_id, options.report))
    if document is None and pin is None:
        finish(_show(settings, recipe_id, as_json=options.report.as_json))
    edited = None if document is None else _read(document)
    finish(_change(settings, recipe_id, edited, options.report, pin=True if pin is None else pin))


def _read(path: Path) -> Any:

    try:
        return json.loads(sys.stdin.read() if str(path) == "-" else path.read_text())
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror})", field="document") from None
    except ValueError:
        raise BadInput(
            f"{path} is not JSON", field="document", hint="start from the output of `corral site recipe`"
        ) from None


async def _show(settings: Settings, recipe_id: str, *, as_json: bool) -> int:

    async with read_store(settings) as store:
        stored = await store.recipes.get(recipe_id)
    # Without --json, print only the document, as --document accepts it.
    render.print_json(recipe_read(stored) if as_json else stored.document)
    return exits.DONE


async def _change(settings: Settings, recipe_id: str, edited: Any, report: ReportOptions, *, pin: bool) -> int:

    async with read_store(settings) as store:
        stored = await store.recipes.get(recipe_id)
    document = None if edited is None else check_edit(stored, edited, EgressPolicy(settings.egress_allow))
    what = f"{'pin' if pin else 'release'} the recipe for {stored.host}{stored.url_pattern}"
    if report.dry_run:
        action = what if document is None else f"edit and {what}"
        render.print_plan(action, {"recipe_id": recipe_id, "document": document, "pinned": pin}, as_json=report.as_json)
        return exits.DONE
    async with open_writable_store(settings) as store:
        changed = await store.recipes.change(recipe_id, document, pinned=pin)
    if report.as_json:
        render.print_json(recipe_read(changed))
    else:
        print(f"recipe {recipe_id}: version {changed.version}, {'pinned' if changed.pinned else 'not pinned'}")
    return exits.DONE


async def _forget(settings: Settings, recipe_id: str, report: ReportOptions) -> int:

    if report.dry_run:
        async with read_store(settings) as store:
            stored = await store.recipes.get(recipe_id)
        what = f"remove the recipe for {stored.host}{stored.url_pattern}"
        render.print_plan(what, {"recipe_id": recipe_id}, as_json=report.as_json)
        return exits.DONE
    async with open_writable_store(settings) as store:
        await store.recipes.delete(recipe_id)
    render.print_removed("recipe", recipe_id, as_json=report.as_json)
    return exits.DONE
