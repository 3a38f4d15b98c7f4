"""`corral site show`."""

from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.verbs.site.statistics import print_statistics
from corral.domain.errors import SiteNotFound
from corral.domain.net.url import parse_target
from corral.domain.sites.recipe.recipe import StoredRecipe
from corral.domain.sites.site import Memory
from corral.settings import Settings, load_settings
from corral.views.host_limits import limiter_read
from corral.views.site_config import site_config_read
from corral.views.site_statistics import site_statistics_read
from corral.views.sites import evidence, intelligence, recipe_read
from corral.wiring.options import host_rules
from corral.wiring.sites.books import read_book, settings_layer

_MAX_RECIPES = 200


def show(
    host: Annotated[str, typer.Argument(metavar="HOST", help="A host, or one of its URLs.")],
    as_json: AsJson = False,
) -> None:
    """Show what is known about a site.

    That is: strategies, costs, recipes, limits, crawl results, and its configuration with the source of each value.

    \b
    corral site show example.com
    corral site show https://example.com/shop/17 --json | jq '.recipes[].document'
    """

    target = parse_target(host if "://" in host else f"http://{host}", field="host")
    finish(_show(load_settings(), target.host, target.authority, as_json=as_json))


async def _show(settings: Settings, host: str, site: str, *, as_json: bool) -> int:

    async with read_store(settings) as store:
        memories = await store.sites.memories(host)
        recipes = await store.recipes.newest(host, None, _MAX_RECIPES)
        crawled = await store.sites.statistics(host)
        hosts = [each for each in await store.hosts.list_watched() if each.is_of(host)]
        waiting, _ = await store.hosts.count_waiting()
        book = await read_book(settings, store)
    configured = site_config_read(book.find(site, settings_layer(settings)), hosts)
    is_configured = configured["site"] in book.sites
    if not memories and not recipes and crawled is None and not hosts and not is_configured:
        raise SiteNotFound(host)
    document = intelligence(host, memories)
    rules = host_rules(settings).breaker
    limiters = [limiter_read(each, rules, waiting.get(each.host_key, 0)) for each in hosts]
    if as_json:
        facts = {"evidence": [evidence(memory) for memory in memories], "gates": limiters}
        statistics = None if crawled is None else site_statistics_read(crawled)
        rest = {"recipes": [recipe_read(recipe) for recipe in recipes], "statistics": statistics, "config": configured}
        render.print_json({**document, **facts, **rest})
        return exits.DONE
    if memories:
        _print_evidence(memories, document["proven"])
    if recipes:
        print()
        _print_recipes(recipes)
    if crawled is not None:
        print()
        print_statistics([crawled])
    if limiters:
        print()
        _print_limiters(limiters)
    print()
    rows = [(name, render.printable(each["value"]), each["source"]) for name, each in configured["values"].items()]
    render.print_table(("option", "value…", "from"), rows)
    return exits.DONE


def _print_limiters(limiters: list[dict[str, Any]]) -> None:

    rows = [
        (
            limiter["host"],
            limiter["breaker"],
            limiter["failures"],
            f"{limiter['wait_s']:.0f} s ({limiter['waiting_reason']})" if limiter["wait_s"] else "",
            limiter["waiting_runs"],
            limiter["pace"]["concurrency"],
            limiter["pace"]["delay_s"],
        )
        for limiter in limiters
    ]
    render.print_table(("host…", "breaker", "failures", "left alone for", "runs wait", "at once", "delay s"), rows)


def _print_evidence(memories: list[Memory], proven: dict[str, Any]) -> None:

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


def _print_recipes(recipes: list[StoredRecipe]) -> None:

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
