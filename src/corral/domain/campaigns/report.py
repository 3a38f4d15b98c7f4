"""The report of a campaign: what became of its sites, and what a person should look at."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from corral.domain.alerts.channel import AlertRules
from corral.domain.campaigns.campaign import Campaign, CampaignSite, campaign_progress, site_progress
from corral.domain.campaigns.latency import p95_seconds
from corral.domain.campaigns.raised_alerts import ReportFinding
from corral.domain.cost.spent import Prices, describe_cost
from corral.domain.crawl.payload import CrawlPayload
from corral.domain.hosts.breaker import BreakerState
from corral.domain.hosts.limiter import StoredHost, host_key_of_url

_MAX_SHOWN = 20
# With fewer pages, a share or a percentile of a site that is under way says little.
_ENOUGH_PAGES = 10
_RATES = frozenset({"error_rate", "p95_seconds"})


def make_report(campaign: Campaign, hosts: Sequence[StoredHost], prices: Prices) -> dict[str, Any]:
    """Return the report; it can be stored and rendered again without anything else."""
    sites = [_report_site(each, hosts, prices) for each in campaign.sites]
    progress = campaign_progress(campaign)
    ended = [each["finished_at"] for each in sites if each.get("finished_at")]
    errors: Counter[str] = Counter()
    for each in sites:
        errors.update(each["errors"])
    return {
        **{name: value for name, value in progress.items() if name not in ("sites", "ended_at")},
        "ended_at": max(ended) if ended and campaign.has_ended else None,
        "errors": dict(errors.most_common()),
        "cost": round(sum(each["cost"]["cost"] for each in sites), 9),
        "sites": sites,
        "look_at": [each.message for each in find_findings({"sites": sites}, AlertRules())],
    }


def _report_site(each: CampaignSite, hosts: Sequence[StoredHost], prices: Prices) -> dict[str, Any]:
    run = each.run
    told = site_progress(each)
    payload = None if run is None else run.payload.read(CrawlPayload)
    stats: Mapping[str, Any] = {} if run is None else run.stats
    proxy = payload.proxy if payload else None
    is_proxied = proxy is not None and not proxy.is_direct
    open_at = [host.host_key for host in hosts if host.state is not BreakerState.CLOSED]
    if open_at:  # seldom; a site may have many URLs
        keys = {host_key_of_url(url) for url in payload.start_urls} if payload else set()
        open_at = [host_key for host_key in open_at if host_key in keys]
    return {
        **told,
        "errors": count_errors(stats.get("reasons") or {}),
        "latency": stats.get("latency") or dict(each.latency),
        "breakers_open": sorted(open_at),
        "proxy": proxy.redacted if proxy is not None and is_proxied else None,
        "left_out": stats.get("left_out") or {},
        "stopped_by": stats.get("budget") or stats.get("stopped_by"),
        "error_message": None if run is None else run.error_message,
        "cost": describe_cost(each.spent, prices.for_policy(proxy), each.counts.done),
    }


def count_errors(reasons: Mapping[str, int]) -> dict[str, int]:
    """Failed pages by the code of their failure. Other reasons are rules that skipped a page."""
    found: Counter[str] = Counter()
    for reason, count in reasons.items():
        code = reason.partition(":")[0]
        if code in _FAILURES:
            found[code] += count
    return dict(found.most_common())


_FAILURES = frozenset(
    {"blocked", "rate_limited", "timeout", "network", "bad_response", "extraction", "limit", "worker_lost", "unknown"}
)


def find_findings(report: Mapping[str, Any], rules: AlertRules) -> list[ReportFinding]:
    """Return what the rules find in a report, site by site."""
    found: list[ReportFinding] = []
    for site in report["sites"]:
        found += _find_of_site(site, rules)
    return found


def find_early_findings(report: Mapping[str, Any], rules: AlertRules) -> list[ReportFinding]:
    """Return what the rules find in the report of a campaign that goes on: rates only of sites with enough pages."""
    found: list[ReportFinding] = []
    for site in report["sites"]:
        tried = site.get("done", 0) + site.get("failed", 0)
        is_known = tried >= _ENOUGH_PAGES or site.get("finished_at") is not None
        found += [each for each in _find_of_site(site, rules) if is_known or each.rule not in _RATES]
    return found


def _find_of_site(site: Mapping[str, Any], rules: AlertRules) -> list[ReportFinding]:
    name, found = site["site"], []
    if site["status"] in rules.statuses:
        why = site.get("error_message") or (f"stopped by {site['stopped_by']}" if site.get("stopped_by") else "")
        found.append(ReportFinding(name, "status", f"{name} is {site['status']}{f': {why}' if why else ''}"))
    rate = site.get("error_rate") or 0.0
    if rate > rules.error_rate:
        kinds = ", ".join(f"{code} {count}" for code, count in list(site["errors"].items())[:5])
        told = f"{name}: {rate:.0%} of the pages failed{f' ({kinds})' if kinds else ''}"
        found.append(ReportFinding(name, "error_rate", told))
    p95 = p95_seconds(site["latency"])
    if rules.p95_seconds is not None and p95 is not None and p95 > rules.p95_seconds:
        found.append(ReportFinding(name, "p95_seconds", f"{name}: 95 % of the pages took up to {p95:.1f} s"))
    if rules.breakers and site["breakers_open"]:
        hosts = ", ".join(site["breakers_open"][:_MAX_SHOWN])
        found.append(ReportFinding(name, "breaker", f"{name}: the circuit breaker of {hosts} is open"))
    left_out = {rule: count for rule, count in site["left_out"].items() if count}
    if left_out:
        told = ", ".join(f"{rule} {count}" for rule, count in list(left_out.items())[:5])
        found.append(ReportFinding(name, "left_out", f"{name}: rules left pages out ({told})"))
    return found


def render_text(report: Mapping[str, Any]) -> str:
    """The report as plain text."""
    lines = [
        f"campaign {report['campaign_id']}: {report['status']}",
        f"started {report['created_at']}, ended {report['ended_at'] or 'not yet'}",
        f"{report['done']} of {report['total']} pages, {report['failed']} failed ({report['error_rate']:.1%}), "
        f"cost {report['cost']:g}",
    ]
    if report["errors"]:
        lines.append("errors: " + ", ".join(f"{code} {count}" for code, count in report["errors"].items()))
    lines += ["", "look at:" if report["look_at"] else "nothing to look at"]
    lines += [f"  - {message}" for message in report["look_at"]]
    lines.append("")
    for site in report["sites"]:
        latency = site["latency"]
        times = f", p50 {latency['p50_ms']:.0f} ms, p95 {latency['p95_ms']:.0f} ms" if latency else ""
        proxy = f", by {site['proxy']}" if site["proxy"] else ""
        pages = f"{site.get('done', 0)} done, {site.get('failed', 0)} failed"
        lines.append(f"{site['site']}: {site['status']}, {pages}{times}{proxy}")
    return "\n".join(lines) + "\n"
