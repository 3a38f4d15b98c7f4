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

_MAX_HOSTS = 20
# With fewer pages, rates and percentiles of a running site are not meaningful.
_ENOUGH_PAGES = 10
_RATES = frozenset({"error_rate", "p95_seconds"})


def make_report(campaign: Campaign, hosts: Sequence[StoredHost], prices: Prices) -> dict[str, Any]:
    """Return the report, which can be stored, and rendered without further data."""
    sites = [_report_site(site, hosts, prices) for site in campaign.sites]
    progress = campaign_progress(campaign)
    ended = [site["finished_at"] for site in sites if site.get("finished_at")]
    errors: Counter[str] = Counter()
    for site in sites:
        errors.update(site["errors"])
    return {
        **{name: value for name, value in progress.items() if name not in ("sites", "ended_at")},
        "ended_at": max(ended) if ended and campaign.has_ended else None,
        "errors": dict(errors.most_common()),
        "cost": round(sum(site["cost"]["cost"] for site in sites), 9),
        "sites": sites,
        "look_at": [finding.message for finding in find_findings({"sites": sites}, AlertRules())],
    }


def _report_site(site: CampaignSite, hosts: Sequence[StoredHost], prices: Prices) -> dict[str, Any]:
    run = site.run
    progress = site_progress(site)
    payload = None if run is None else run.payload.read(CrawlPayload)
    stats: Mapping[str, Any] = {} if run is None else run.stats
    proxy = payload.proxy if payload else None
    is_proxied = proxy is not None and not proxy.is_direct
    open_at = [host.host_key for host in hosts if host.state is not BreakerState.CLOSED]
    if open_at:  # rare; a site may have many URLs
        keys = {host_key_of_url(url) for url in payload.start_urls} if payload else set()
        open_at = [host_key for host_key in open_at if host_key in keys]
    return {
        **progress,
        "errors": count_errors(stats.get("reasons") or {}),
        "latency": stats.get("latency") or dict(site.latency),
        "breakers_open": sorted(open_at),
        "proxy": proxy.redacted if proxy is not None and is_proxied else None,
        "left_out": stats.get("left_out") or {},
        "stopped_by": stats.get("budget") or stats.get("stopped_by"),
        "error_message": None if run is None else run.error_message,
        "cost": describe_cost(site.spent, prices.for_policy(proxy), site.counts.done),
    }


def count_errors(reasons: Mapping[str, int]) -> dict[str, int]:
    """Count failed pages by failure code. Other reasons are rules that skipped a page."""
    errors: Counter[str] = Counter()
    for reason, count in reasons.items():
        code = reason.partition(":")[0]
        if code in _FAILURES:
            errors[code] += count
    return dict(errors.most_common())


_FAILURES = frozenset(
    {"blocked", "rate_limited", "timeout", "network", "bad_response", "extraction", "limit", "worker_lost", "unknown"}
)


def find_findings(report: Mapping[str, Any], rules: AlertRules) -> list[ReportFinding]:
    """Return what the rules find in a report, site by site."""
    findings: list[ReportFinding] = []
    for site in report["sites"]:
        findings += _find_of_site(site, rules)
    return findings


def find_early_findings(report: Mapping[str, Any], rules: AlertRules) -> list[ReportFinding]:
    """Return what the rules find in the report of a running campaign: rates only of sites with enough pages."""
    findings: list[ReportFinding] = []
    for site in report["sites"]:
        tried = site.get("done", 0) + site.get("failed", 0)
        has_enough_pages = tried >= _ENOUGH_PAGES or site.get("finished_at") is not None
        findings += [
            finding for finding in _find_of_site(site, rules) if has_enough_pages or finding.rule not in _RATES
        ]
    return findings


def _find_of_site(site: Mapping[str, Any], rules: AlertRules) -> list[ReportFinding]:
    name, findings = site["site"], []
    if site["status"] in rules.statuses:
        why = site.get("error_message") or (f"stopped by {site['stopped_by']}" if site.get("stopped_by") else "")
        findings.append(ReportFinding(name, "status", f"{name} is {site['status']}{f': {why}' if why else ''}"))
    rate = site.get("error_rate") or 0.0
    if rate > rules.error_rate:
        kinds = ", ".join(f"{code} {count}" for code, count in list(site["errors"].items())[:5])
        message = f"{name}: {rate:.0%} of the pages failed{f' ({kinds})' if kinds else ''}"
        findings.append(ReportFinding(name, "error_rate", message))
    p95 = p95_seconds(site["latency"])
    if rules.p95_seconds is not None and p95 is not None and p95 > rules.p95_seconds:
        findings.append(ReportFinding(name, "p95_seconds", f"{name}: 95 % of the pages took up to {p95:.1f} s"))
    if rules.breakers and site["breakers_open"]:
        hosts = ", ".join(site["breakers_open"][:_MAX_HOSTS])
        findings.append(ReportFinding(name, "breaker", f"{name}: the circuit breaker of {hosts} is open"))
    left_out = {rule: count for rule, count in site["left_out"].items() if count}
    if left_out:
        counts = ", ".join(f"{rule} {count}" for rule, count in list(left_out.items())[:5])
        findings.append(ReportFinding(name, "left_out", f"{name}: rules left pages out ({counts})"))
    return findings


def render_text(report: Mapping[str, Any]) -> str:
    """Render the report as plain text."""
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
