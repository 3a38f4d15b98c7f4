"""Campaigns: the runs of sites that are scraped together, and their dependencies."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from corral.domain.campaigns.campaign import Campaign, CampaignSite, NewSite, find_ready
from corral.domain.campaigns.latency import LatencyHistogram
from corral.domain.campaigns.raised_alerts import RaisedAlerts
from corral.domain.cost.spent import Spent
from corral.domain.crawl.crawl import Counts
from corral.domain.errors import CampaignNotFound
from corral.domain.runs.event import EventDraft
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.run import NewRun, Run, RunAction, RunState
from corral.store.queries import idempotency
from corral.store.queries.crawl import frontier
from corral.store.queries.runs import runs as runs_queries
from corral.store.rows import at, from_json, maybe_at, run_of, to_json
from corral.store.site_tables import campaign_sites, campaigns
from corral.store.tables import crawls, runs
from corral.store.tx import LAST_ID, Row, Tx, first, insert_all, param, values

AddedRun = tuple[NewRun, Sequence[EventDraft]]

_ADD = insert_all(campaigns, without=("ended_at", "report", "raised", "raised_count"))
_ADD_SITE = insert_all(campaign_sites)
_GET = sa.select(campaigns).where(campaigns.c.id == param("id"))
_COUNTED = tuple(crawls.c[name] for name in (*Counts._fields, *Spent._fields, "latency"))
_SITES = (
    sa.select(campaign_sites, *runs.columns, *_COUNTED)
    .select_from(
        campaign_sites.outerjoin(runs, runs.c.id == campaign_sites.c.run_id).outerjoin(
            crawls, crawls.c.run_id == campaign_sites.c.run_id
        )
    )
    .where(campaign_sites.c.campaign_id == param("id"))
    .order_by(campaign_sites.c.place)
)
_OPEN = sa.select(campaigns.c.id).where(campaigns.c.ended_at.is_(None)).order_by(campaigns.c.id)
# Without the payloads of the runs, which name every URL: this is read with every check of the health.
_OPEN_SITES = (
    sa.select(campaign_sites.c.site, *(crawls.c[name] for name in Counts._fields))
    .select_from(
        campaigns.join(campaign_sites, campaign_sites.c.campaign_id == campaigns.c.id).join(
            crawls, crawls.c.run_id == campaign_sites.c.run_id
        )
    )
    .where(campaigns.c.ended_at.is_(None))
    .order_by(campaigns.c.id, campaign_sites.c.place)
)
_NEWEST = (
    sa.select(campaigns.c.id)
    .where(campaigns.c.id < param("before"))
    .order_by(campaigns.c.id.desc())
    .limit(param("limit"))
)
_OF_RUN = sa.select(campaign_sites.c.campaign_id).where(campaign_sites.c.run_id == param("run_id"))
# Only the caller whose update matched resumes the run: two nodes may check at the same moment.
_RELEASE = (
    sa.update(campaign_sites)
    .where(
        campaign_sites.c.campaign_id == param("id"),
        campaign_sites.c.site == param("site"),
        campaign_sites.c.released_at.is_(None),
    )
    .values(released_at=param("now"))
)
_END = (
    sa.update(campaigns)
    .where(campaigns.c.id == param("id"), campaigns.c.ended_at.is_(None))
    .values(ended_at=param("now"), report=param("report"))
)
# Only the caller that saw the latest alerts adds to them: two nodes may judge a campaign at the same moment.
_RAISE = (
    sa.update(campaigns)
    .where(
        campaigns.c.id == param("id"),
        campaigns.c.ended_at.is_(None),
        campaigns.c.raised_count == param("before"),
    )
    .values(raised=param("raised"), raised_count=param("before") + 1)
)
_OLD = campaigns.c.ended_at < param("before")
_FORGET_SITES = sa.delete(campaign_sites).where(campaign_sites.c.campaign_id.in_(sa.select(campaigns.c.id).where(_OLD)))
_FORGET = sa.delete(campaigns).where(_OLD)
_SITE_COLUMNS = len(campaign_sites.columns)
_RUN_COLUMNS = len(runs.columns)


def add(tx: Tx, campaign_id: str, sites: Sequence[NewSite], key: IdempotencyKey | None) -> tuple[str, bool]:
    """Write a campaign with the runs of its sites. For a key used before, return the earlier id and True.

    The run of a site that waits for others is written as paused.
    """
    if key is not None:
        found = idempotency.find_or_add(tx, key, campaign_id)
        if found is not None:
            return found, found != campaign_id
    if tx.is_repeat and tx.all(_GET, values(id=campaign_id)):
        return campaign_id, False
    tx.run(_ADD, values(id=campaign_id, created_at=tx.wall_ms))
    for position, each in enumerate(sites):
        frontier.add_crawl(tx, each.run, each.drafts, each.seeds, None)
        if each.waits_for:
            runs_queries.apply_action(tx, each.run.id, RunAction.PAUSE)
        row = values(
            campaign_id=campaign_id,
            site=each.site,
            place=position,
            run_id=each.run.id,
            waits_for=to_json(list(each.waits_for)),
            released_at=None if each.waits_for else tx.wall_ms,
        )
        tx.run(_ADD_SITE, row)
    return campaign_id, False


def get(tx: Tx, campaign_id: str) -> Campaign:
    row = first(tx.all(_GET, values(id=campaign_id)))
    if row is None:
        raise CampaignNotFound(campaign_id)
    id_, created_at, ended_at, report, raised, rounds = row
    sites = tuple(_site(each) for each in tx.all(_SITES, values(id=campaign_id)))
    stored = None if report is None else from_json(report)
    alerts = RaisedAlerts.of({} if raised is None else from_json(raised), int(rounds))
    return Campaign(id_, at(created_at), maybe_at(ended_at), stored, sites, alerts)


def _site(row: Row) -> CampaignSite:
    _, site, _, run_id, waits_for, released_at = row[:_SITE_COLUMNS]
    of_run, of_crawl = row[_SITE_COLUMNS : _SITE_COLUMNS + _RUN_COLUMNS], row[_SITE_COLUMNS + _RUN_COLUMNS :]
    run = None if of_run[0] is None else run_of(of_run)
    numbers = [int(number or 0) for number in of_crawl[:-1]]
    latency = LatencyHistogram.of(None if of_crawl[-1] is None else from_json(of_crawl[-1])).document()
    counts, spent = Counts(*numbers[: len(Counts._fields)]), Spent(*numbers[len(Counts._fields) :])
    return CampaignSite(site, run_id, tuple(from_json(waits_for)), released_at is not None, run, counts, spent, latency)


def list_open(tx: Tx) -> list[str]:
    return [row[0] for row in tx.all(_OPEN)]


def list_open_sites(tx: Tx) -> list[tuple[str, Counts]]:
    """Return the sites of open campaigns with the counts of their pages."""
    return [(row[0], Counts(*map(int, row[1:]))) for row in tx.all(_OPEN_SITES)]


def newest(tx: Tx, before: str | None, limit: int) -> list[Campaign]:
    return [get(tx, row[0]) for row in tx.all(_NEWEST, values(before=before or LAST_ID, limit=limit))]


def find_by_run(tx: Tx, run_id: str) -> str | None:
    """Return the campaign that a run belongs to."""
    row = first(tx.all(_OF_RUN, values(run_id=run_id)))
    return None if row is None else str(row[0])


def release_ready(tx: Tx, campaign_id: str) -> list[Run]:
    """Resume the runs of sites whose dependencies have ended; return those that are queued now."""
    resumed = []
    for each in find_ready(get(tx, campaign_id).sites):
        is_ours = tx.run(_RELEASE, values(id=campaign_id, site=each.site, now=tx.wall_ms)) == 1
        if is_ours and each.run is not None and each.run.state is RunState.HELD:
            resumed.append(runs_queries.apply_action(tx, each.run_id, RunAction.RESUME))
    return resumed


def end(tx: Tx, campaign_id: str, report: Mapping[str, Any], alerts: Sequence[AddedRun] = ()) -> bool:
    """Write the report of an ended campaign, and the runs of its alerts; False if another node has done so."""
    is_ours = tx.run(_END, values(id=campaign_id, now=tx.wall_ms, report=to_json(dict(report)))) == 1
    if is_ours and alerts:
        runs_queries.add(tx, alerts)
    return is_ours


def raise_alerts(tx: Tx, campaign_id: str, raised: RaisedAlerts, alerts: Sequence[AddedRun]) -> bool:
    """Write the runs of alerts of a campaign that goes on; False if another node has raised some, or it has ended."""
    key = values(id=campaign_id, before=raised.rounds - 1, raised=to_json(raised.document()))
    is_ours = tx.run(_RAISE, key) == 1
    if is_ours:
        runs_queries.add(tx, alerts)
    return is_ours


def forget(tx: Tx, older_than_s: float) -> int:
    """Delete campaigns that ended longer ago than this, with their reports; return how many."""
    before = values(before=tx.wall_ms - round(older_than_s * 1000))
    tx.run(_FORGET_SITES, before)
    return tx.run(_FORGET, before)
