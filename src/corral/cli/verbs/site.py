"""`corral site`: what was learnt about sites."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from corral.cli.options import AsJson, Limit
from corral.cli.verbs.site_stats import print_statistics, stats

if TYPE_CHECKING:
    from corral.domain.recipe import StoredRecipe
    from corral.domain.site import Memory
    from corral.settings import Settings

app = typer.Typer(no_args_is_help=True, help="What was learnt about sites: which strategy works, and recipes.")

app.command("stats")(stats)

_MAX_RECIPES = 200


@app.command("list")
def list_(limit: Limit = 50, as_json: AsJson = False) -> None:
    """List the sites there is evidence of, the latest first.

    \b
    corral site list
    corral site list --json | jq -r '.[].host'
    """
    from corral.cli.running import finish
    from corral.settings import load_settings

    finish(_list(load_settings(), limit, as_json=as_json))


async def _list(settings: "Settings", limit: int, *, as_json: bool) -> int:
    from corral.api.schemas_sites import known_site_read
    from corral.cli import exits, render
    from corral.cli.running import read_store

    async with read_store(settings) as store:
        found = await store.known_sites(limit)
    if as_json:
        render.print_json([known_site_read(site) for site in found])
        return exits.DONE
    rows = [(site.host, site.attempts, site.recipes, render.ago(site.seen_at)) for site in found]
    nothing = "no site is known yet; every run of a page teaches something about its site"
    render.print_table(("host…", "attempts", "recipes", "seen"), rows, nothing=nothing)
    return exits.DONE


@app.command("show")
def show(
    host: Annotated[str, typer.Argument(metavar="HOST", help="A host, or the URL of a page of it.")],
    as_json: AsJson = False,
) -> None:
    """Show which strategies work on a site, how surely, at what cost, recipes, and what crawls got from it.

    \b
    corral site show example.com
    corral site show https://example.com/shop/17 --json | jq '.recipes[].document'
    """
    from corral.cli.running import finish
    from corral.domain.url import parse_target
    from corral.settings import load_settings

    target = parse_target(host if "://" in host else f"http://{host}", field="host")
    finish(_show(load_settings(), target.host, as_json=as_json))


async def _show(settings: "Settings", host: str, *, as_json: bool) -> int:
    from corral.api.schemas_site_statistics import site_statistics_read
    from corral.api.schemas_sites import evidence, intelligence, recipe_read
    from corral.cli import exits, render
    from corral.cli.running import read_store
    from corral.domain.errors import SiteNotFound

    async with read_store(settings) as store:
        memories = await store.site(host)
        recipes = await store.newest_recipes(host, None, _MAX_RECIPES)
        crawled = await store.site_statistics(host)
    if not memories and not recipes and crawled is None:
        raise SiteNotFound(host)
    told = intelligence(host, memories)
    if as_json:
        shown = [evidence(memory) for memory in memories]
        of_crawls = None if crawled is None else site_statistics_read(crawled)
        also = {"recipes": [recipe_read(recipe) for recipe in recipes], "statistics": of_crawls}
        render.print_json({**told, "evidence": shown, **also})
        return exits.DONE
    if memories:
        _print_evidence(memories, told["proven"])
    if recipes:
        print()
        _print_recipes(recipes)
    if crawled is not None:
        print()
        print_statistics([crawled])
    return exits.DONE


def _print_evidence(memories: "list[Memory]", proven: dict[str, Any]) -> None:
    from corral.cli import render

    rows = [
        (
            memory.fields_key,
            memory.strategy.value,
            memory.attempts,
            f"{memory.success_rate:.0%}",
            f"{memory.yield_rate:.0%}",
            f"{memory.mean_cost_ms:.0f} ms",
            "yes" if proven.get(memory.fields_key) == memory.strategy.value else "",
        )
        for memory in memories
    ]
    render.print_table(("fields", "strategy", "attempts", "success", "yield?", "cost", "proven"), rows)


def _print_recipes(recipes: "list[StoredRecipe]") -> None:
    from corral.cli import render

    rows = [
        (
            recipe.id,
            recipe.url_pattern,
            ", ".join(f"{call['method']} {call['url']}" for call in recipe.document["calls"]),
            ", ".join(recipe.document["fields"]),
            recipe.version,
            "yes" if recipe.pinned else "",
        )
        for recipe in recipes
    ]
    render.print_table(("recipe", "pages…", "calls…", "fields?", "version?", "pinned"), rows)
