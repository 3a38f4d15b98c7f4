"""`corral site list`."""

from corral.cli import exits, render
from corral.cli.options import AsJson, Limit
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.domain.hosts.breaker import BreakerState
from corral.domain.hosts.limiter import StoredHost
from corral.settings import Settings, load_settings
from corral.views.host_limits import limiter_read
from corral.views.sites import to_known_site_read
from corral.wiring.options import host_rules


def list_(limit: Limit = 50, as_json: AsJson = False) -> None:
    """List the known sites, most recently seen first.

    \b
    corral site list
    corral site list --json | jq -r '.[].host'
    """

    finish(_list(load_settings(), limit, as_json=as_json))


async def _list(settings: Settings, limit: int, *, as_json: bool) -> int:

    async with read_store(settings) as store:
        sites = await store.sites.list_known(limit)
        hosts = {host.host_key: host for host in await store.hosts.list_watched()}
    if as_json:
        rules = host_rules(settings).breaker
        documents = [
            {
                **to_known_site_read(site),
                "gates": [limiter_read(host, rules) for host in hosts.values() if host.is_of(site.host)],
            }
            for site in sites
        ]
        render.print_json(documents)
        return exits.DONE
    rows = [
        (site.host, site.attempts, site.recipes, render.ago(site.seen_at), _describe_breaker(hosts, site.host))
        for site in sites
    ]
    nothing = "no site is known yet; every run of a page adds to what is known about its site"
    render.print_table(("host…", "attempts", "recipes", "seen", "limiter"), rows, nothing=nothing)
    return exits.DONE


def _describe_breaker(hosts: dict[str, StoredHost], host: str) -> str:
    """Describe the limiters of a host, one per port."""

    states = {each.state for each in hosts.values() if each.is_of(host)}
    return ", ".join(sorted(state.value for state in states - {BreakerState.CLOSED}))
