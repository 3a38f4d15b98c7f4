"""`corral site`: what was learnt about sites."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from corral.cli.options import AsJson, DryRun, Limit
from corral.cli.verbs.site.recipe import recipe
from corral.cli.verbs.site.statistics import print_statistics, stats

if TYPE_CHECKING:
    from corral.domain.hosts.limiter import SitePace, StoredHost
    from corral.domain.sites.recipe.recipe import StoredRecipe
    from corral.domain.sites.site import Memory
    from corral.settings import Settings

app = typer.Typer(
    no_args_is_help=True,
    help="What was learnt about sites: which strategy works, recipes; and how fast they are asked.",
)

app.command("stats")(stats)
app.command("recipe")(recipe)

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
    from corral.cli import exits, render
    from corral.cli.running import read_store
    from corral.views.host_limits import gate_read
    from corral.views.sites import known_site_read
    from corral.wiring.options import gate_rules

    async with read_store(settings) as store:
        found = await store.sites.list_known(limit)
        gates = {host.place: host for host in await store.hosts.list_watched()}
    if as_json:
        rules = gate_rules(settings).breaker
        shown = [
            {
                **known_site_read(site),
                "gates": [gate_read(host, rules) for host in gates.values() if host.is_of(site.host)],
            }
            for site in found
        ]
        render.print_json(shown)
        return exits.DONE
    rows = [
        (site.host, site.attempts, site.recipes, render.ago(site.seen_at), _left(gates, site.host)) for site in found
    ]
    nothing = "no site is known yet; every run of a page teaches something about its site"
    render.print_table(("host…", "attempts", "recipes", "seen", "gate"), rows, nothing=nothing)
    return exits.DONE


def _left(gates: "dict[str, StoredHost]", host: str) -> str:
    """What there is to say about the gates of a host; several where it answers at several ports."""
    from corral.domain.hosts.breaker import BreakerState

    states = {each.state for each in gates.values() if each.is_of(host)}
    return ", ".join(sorted(state.value for state in states - {BreakerState.CLOSED}))


@app.command("show")
def show(
    host: Annotated[str, typer.Argument(metavar="HOST", help="A host, or the URL of a page of it.")],
    as_json: AsJson = False,
) -> None:
    """Show which strategies work on a site, how surely, at what cost, recipes, its gate, and what crawls got from it.

    \b
    corral site show example.com
    corral site show https://example.com/shop/17 --json | jq '.recipes[].document'
    """
    from corral.cli.running import finish
    from corral.domain.net.url import parse_target
    from corral.settings import load_settings

    target = parse_target(host if "://" in host else f"http://{host}", field="host")
    finish(_show(load_settings(), target.host, as_json=as_json))


async def _show(settings: "Settings", host: str, *, as_json: bool) -> int:
    from corral.cli import exits, render
    from corral.cli.running import read_store
    from corral.domain.errors import SiteNotFound
    from corral.views.host_limits import gate_read
    from corral.views.site_statistics import site_statistics_read
    from corral.views.sites import evidence, intelligence, recipe_read
    from corral.wiring.options import gate_rules

    async with read_store(settings) as store:
        memories = await store.sites.memories(host)
        recipes = await store.recipes.newest(host, None, _MAX_RECIPES)
        crawled = await store.sites.statistics(host)
        gates = [each for each in await store.hosts.list_watched() if each.is_of(host)]
        waiting, _ = await store.hosts.count_waiting()
    if not memories and not recipes and crawled is None and not gates:
        raise SiteNotFound(host)
    told = intelligence(host, memories)
    rules = gate_rules(settings).breaker
    at_gates = [gate_read(each, rules, waiting.get(each.place, 0)) for each in gates]
    if as_json:
        shown = {"evidence": [evidence(memory) for memory in memories], "gates": at_gates}
        of_crawls = None if crawled is None else site_statistics_read(crawled)
        also = {"recipes": [recipe_read(recipe) for recipe in recipes], "statistics": of_crawls}
        render.print_json({**told, **shown, **also})
        return exits.DONE
    if memories:
        _print_evidence(memories, told["proven"])
    if recipes:
        print()
        _print_recipes(recipes)
    if crawled is not None:
        print()
        print_statistics([crawled])
    if at_gates:
        print()
        _print_gates(at_gates)
    return exits.DONE


def _print_gates(gates: list[dict[str, Any]]) -> None:
    from corral.cli import render

    rows = [
        (
            gate["host"],
            gate["breaker"],
            gate["failures"],
            f"{gate['wait_s']:.0f} s ({gate['waiting_reason']})" if gate["wait_s"] else "",
            gate["waiting_runs"],
            gate["pace"]["concurrency"],
            gate["pace"]["delay_s"],
        )
        for gate in gates
    ]
    render.print_table(("gate…", "breaker", "failures", "left alone for", "runs wait", "at once", "delay s"), rows)


@app.command("pace")
def pace(
    host: Annotated[str, typer.Argument(metavar="HOST", help="A host, with its port if need be, or a URL of it.")],
    *,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", min=1, max=1000, help="Visits at once, whatever a crawl asks for.")
    ] = None,
    delay: Annotated[
        float | None, typer.Option("--delay", min=0, max=3600, help="Seconds between two visits, spread by half.")
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Leave it to the settings again.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Say how fast one site may be asked. Nodes that run go by it within two seconds.

    What is not given is left to APP_HOST_CONCURRENCY and APP_HOST_DELAY_SECONDS.

    \b
    corral site pace example.com --concurrency 2 --delay 1.5
    corral site pace example.com --reset
    """
    from corral.cli.running import finish
    from corral.domain.errors import BadInput
    from corral.domain.hosts.limiter import SitePace, place_of
    from corral.domain.net.url import parse_target
    from corral.settings import load_settings

    if reset == (concurrency is not None or delay is not None):
        hint = "give --concurrency, --delay or both; or --reset alone"
        raise BadInput("this says nothing about the pace, or two things at once", field="pace", hint=hint)
    place = place_of(parse_target(host if "://" in host else f"http://{host}", field="host"))
    finish(_pace(load_settings(), place, SitePace(concurrency, delay), dry_run=dry_run, as_json=as_json))


async def _pace(settings: "Settings", place: str, said: "SitePace", *, dry_run: bool, as_json: bool) -> int:
    from corral.cli import exits, render
    from corral.cli.running import opened_store
    from corral.views.host_limits import pace_read

    if dry_run:
        render.print_plan(f"set the pace of {place}", {"host": place, "pace": pace_read(said)}, as_json=as_json)
        return exits.DONE
    async with opened_store(settings) as store:
        await store.hosts.set_pace(place, said)
    if as_json:
        render.print_json({"host": place, "pace": pace_read(said)})
        return exits.DONE
    at_once = "as many as the settings say" if said.concurrency is None else str(said.concurrency)
    between = "as far apart as the settings say" if said.delay_s is None else f"{said.delay_s:g} s apart"
    print(f"{place}: {at_once} at once, {between}")
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
