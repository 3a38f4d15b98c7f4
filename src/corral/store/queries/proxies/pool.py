"""The proxies of the pool: import, list, check results, uses."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from corral.domain.net.pool_policy import Tier
from corral.domain.proxies.checking import ProxyCheck, apply_check
from corral.domain.proxies.choice import NO_RECORD, PoolRows, SiteRecord
from corral.domain.proxies.imports import NewProxy, ProxyImport
from corral.domain.proxies.pooled import Anonymity, PooledProxy, ProxyNotFound, ProxyState
from corral.domain.proxies.use import TIER_IDS, ProxyUse, Verdict, count_use, site_keys
from corral.store.proxy_tables import proxies, proxy_sites
from corral.store.rows import from_json, to_json
from corral.store.tx import Row, Tx, insert_all, param, values

# Held by a transaction that adds proxies or starts a refresh: it keeps numbers in order, and refreshes one at a time.
_LOCK: Any = sa.select(sa.text("pg_advisory_xact_lock(7381240918)"))
_MAX_ID = sa.select(sa.func.coalesce(sa.func.max(proxies.c.id), 0))
_KNOWN = sa.select(proxies.c.identity, proxies.c.sealed, proxies.c.tier, proxies.c.source)
_INSERT = insert_all(proxies)
_REPLACE = (
    sa.update(proxies)
    .where(proxies.c.identity == param("identity"))
    .values(sealed=param("sealed"), kid=param("kid"), tier=param("tier"), source=param("source"))
)
_COLUMNS = (
    proxies.c.id, proxies.c.address, proxies.c.sealed, proxies.c.tier, proxies.c.source, proxies.c.state,
    proxies.c.score, proxies.c.found, proxies.c.failures, proxies.c.cools, proxies.c.cooled_until, proxies.c.uses,
    proxies.c.successes, proxies.c.checked_at, proxies.c.created_at,
)  # fmt: skip
_READ = sa.select(*_COLUMNS)
_GET = _READ.where(proxies.c.id == param("id"))
_USABLE = _READ.where(proxies.c.state == ProxyState.ALIVE.value)
_IDS = sa.select(proxies.c.id).order_by(proxies.c.id)
_PAGE = _READ.where(proxies.c.id < param("before")).order_by(proxies.c.id.desc()).limit(param("limit"))
_PAGE_IN_STATE = (
    _READ.where(proxies.c.id < param("before"), proxies.c.state == param("state"))
    .order_by(proxies.c.id.desc())
    .limit(param("limit"))
)
_COUNT = sa.select(proxies.c.state, sa.func.count()).group_by(proxies.c.state)
_UPDATE = (
    sa.update(proxies)
    .where(proxies.c.id == param("id"))
    .values(
        state=param("state"),
        score=param("score"),
        found=param("found"),
        failures=param("failures"),
        cools=param("cools"),
        cooled_until=param("cooled_until"),
        uses=param("uses"),
        successes=param("successes"),
        checked_at=param("checked_at"),
    )
)
_DELETE = sa.delete(proxies).where(proxies.c.id == param("id"))
_DELETE_SITES = sa.delete(proxy_sites).where(proxy_sites.c.proxy_id == param("id"))
_DELETE_STATE = sa.delete(proxies).where(proxies.c.state == param("state"))
_DELETE_LOST_SITES = sa.delete(proxy_sites).where(
    proxy_sites.c.proxy_id > 0, ~sa.exists().where(proxies.c.id == proxy_sites.c.proxy_id)
)
_SITES = sa.select(proxy_sites)
_SITE = _SITES.where(proxy_sites.c.proxy_id == param("proxy_id"), proxy_sites.c.site == param("site"))
_TIERS = _SITES.where(proxy_sites.c.proxy_id <= 0).order_by(proxy_sites.c.updated_at.desc(), proxy_sites.c.site)
_TIERS_OF_SITE = _TIERS.where(proxy_sites.c.site == param("site")).limit(param("rows"))
_LATEST_TIERS = _TIERS.limit(param("rows"))
_SET_SITE = {"good": param("good"), "bad": param("bad"), "updated_at": param("updated_at")}
_PUT_SITE = (
    postgresql.insert(proxy_sites)
    .values(proxy_id=param("proxy_id"), site=param("site"), **_SET_SITE)
    .on_conflict_do_update(index_elements=["proxy_id", "site"], set_=_SET_SITE)
)
_KIDS = sa.select(proxies.c.kid, sa.func.count()).where(proxies.c.kid.is_not(None)).group_by(proxies.c.kid)
_UNDER_OTHER_KEYS = (
    _READ.where(proxies.c.kid.is_not(None), proxies.c.kid != param("kid"), proxies.c.id > param("after"))
    .order_by(proxies.c.id)
    .limit(param("limit"))
)
_RESEAL = (
    sa.update(proxies)
    .where(proxies.c.id == param("id"), proxies.c.sealed == param("old"))
    .values(sealed=param("sealed"), kid=param("kid"))
)

_LAST = 2**62


def lock(tx: Tx) -> None:
    if tx.is_postgres:
        tx.all(_LOCK)


def add(tx: Tx, new: Sequence[NewProxy]) -> ProxyImport:
    """Add proxies by identity; a known proxy gets the new credentials, tier and source."""
    lock(tx)
    known = {row[0]: row[1:] for row in tx.all(_KNOWN)}
    fresh = [each for each in new if each.identity not in known]
    last = int(tx.all(_MAX_ID)[0][0])
    tx.many(_INSERT, [_new_row(tx, each, last + number) for number, each in enumerate(fresh, 1)])
    updated = 0
    for each in new:
        if (before := known.get(each.identity)) is None:
            continue
        # A seal differs each time; replace credentials only if there were none before, or something else changed.
        if (before[0] is None, *before[1:]) != (each.sealed is None, each.tier.value, each.source):
            updated += tx.run(_REPLACE, _key_values(each) | values(tier=each.tier.value, source=each.source))
        elif each.sealed is not None:
            tx.run(_REPLACE, _key_values(each) | values(tier=each.tier.value, source=each.source))
    return ProxyImport(len(fresh), updated, len(new) - len(fresh) - updated)


def _key_values(new: NewProxy) -> dict[str, Any]:
    return values(identity=new.identity, sealed=new.sealed, kid=_kid_of(new.sealed))


def _kid_of(sealed: str | None) -> str | None:
    return None if sealed is None else sealed.partition(".")[0]


def _new_row(tx: Tx, new: NewProxy, number: int) -> dict[str, Any]:
    return values(
        id=number,
        identity=new.identity,
        address=new.address,
        sealed=new.sealed,
        kid=_kid_of(new.sealed),
        tier=new.tier.value,
        source=new.source,
        state=ProxyState.UNCHECKED.value,
        score=0.0,
        found="{}",
        failures=0,
        cools=0,
        cooled_until=None,
        uses=0,
        successes=0,
        checked_at=None,
        created_at=tx.wall_ms,
    )


def get(tx: Tx, proxy_id: int) -> PooledProxy:
    rows = tx.all(_GET, values(id=proxy_id))
    if not rows:
        raise ProxyNotFound(proxy_id)
    return proxy_of(rows[0])


def select(tx: Tx, ids: Iterable[int]) -> list[PooledProxy]:
    """Return the proxies with these ids that exist."""
    return [proxy_of(row) for proxy_id in ids for row in tx.all(_GET, values(id=proxy_id))]


def ids(tx: Tx) -> list[int]:
    return [row[0] for row in tx.all(_IDS)]


def page(tx: Tx, state: ProxyState | None, before: int | None, limit: int) -> list[PooledProxy]:
    """Return proxies, those imported last first."""
    found = values(before=before or _LAST, limit=limit, state=None if state is None else state.value)
    return [proxy_of(row) for row in tx.all(_PAGE if state is None else _PAGE_IN_STATE, found)]


def count(tx: Tx) -> dict[str, int]:
    found = {row[0]: int(row[1]) for row in tx.all(_COUNT)}
    return {state.value: found.get(state.value, 0) for state in ProxyState}


def delete(tx: Tx, proxy_id: int) -> None:
    if tx.run(_DELETE, values(id=proxy_id)) == 0:
        raise ProxyNotFound(proxy_id)
    tx.run(_DELETE_SITES, values(id=proxy_id))


def delete_in_state(tx: Tx, state: ProxyState) -> int:
    deleted = tx.run(_DELETE_STATE, values(state=state.value))
    tx.run(_DELETE_LOST_SITES)
    return deleted


def load(tx: Tx) -> PoolRows:
    usable = [proxy_of(row) for row in tx.all(_USABLE)]
    return PoolRows(usable, {(row[0], row[1]): _record_of(row) for row in tx.all(_SITES)})


def tiers(tx: Tx, site: str | None, limit: int) -> dict[str, dict[Tier, SiteRecord]]:
    """Return the results of tiers by site, those of the sites used last first."""
    by_id = {number: tier for tier, number in TIER_IDS.items()}
    rows = limit * len(by_id)
    found: dict[str, dict[Tier, SiteRecord]] = {}
    query = _LATEST_TIERS if site is None else _TIERS_OF_SITE
    for row in tx.all(query, values(rows=rows) | ({} if site is None else values(site=site))):
        found.setdefault(row[1], {})[by_id[row[0]]] = _record_of(row)
    return dict(list(found.items())[:limit])


def record_checks(tx: Tx, checks: Sequence[ProxyCheck]) -> int:
    """Write check results; return how many of the proxies exist. A deleted proxy stays deleted."""
    found = {proxy.id: proxy for proxy in select(tx, [check.id for check in checks])}
    now = tx.wall_ms / 1000
    changed = [apply_check(found[check.id], check, now) for check in checks if check.id in found]
    tx.many(_UPDATE, [_row_of(proxy) for proxy in changed])
    return len(changed)


def record_uses(tx: Tx, uses: Sequence[ProxyUse]) -> None:
    """Count uses, in order."""
    now = tx.wall_ms / 1000
    found = {proxy.id: proxy for proxy in select(tx, sorted({use.id for use in uses if use.id > 0}))}
    for use in uses:
        proxy = found.get(use.id)
        if proxy is not None:
            found[use.id] = count_use(proxy, use, now)
    tx.many(_UPDATE, [_row_of(proxy) for proxy in found.values()])
    _record_sites(tx, uses, now)


def _record_sites(tx: Tx, uses: Sequence[ProxyUse], now: float) -> None:
    records: dict[tuple[int, str], SiteRecord] = {}
    for use in uses:
        for key in site_keys(use):
            if key not in records:
                rows = tx.all(_SITE, values(proxy_id=key[0], site=key[1]))
                records[key] = _record_of(rows[0]) if rows else NO_RECORD
            records[key] = records[key].add(now, is_good=use.verdict is Verdict.GOOD)
    tx.many(
        _PUT_SITE,
        [
            values(proxy_id=key[0], site=key[1], good=each.good, bad=each.bad, updated_at=round(each.updated_at * 1000))
            for key, each in records.items()
        ],
    )


def kids(tx: Tx) -> Mapping[str, int]:
    return {row[0]: int(row[1]) for row in tx.all(_KIDS)}


def under_other_keys(tx: Tx, kid: str, after: int, limit: int) -> list[PooledProxy]:
    return [proxy_of(row) for row in tx.all(_UNDER_OTHER_KEYS, values(kid=kid, after=after, limit=limit))]


def reseal(tx: Tx, proxy_id: int, old: str, sealed: str) -> bool:
    return tx.run(_RESEAL, values(id=proxy_id, old=old, sealed=sealed, kid=_kid_of(sealed))) == 1


def _record_of(row: Row) -> SiteRecord:
    return SiteRecord(float(row[2]), float(row[3]), row[4] / 1000)


def proxy_of(row: Row) -> PooledProxy:
    (
        id_, address, sealed, tier, source, state, score, cell, failures, cools, cooled_until, uses, successes,
        checked_at, created_at,
    ) = row  # fmt: skip
    found = from_json(cell)
    return PooledProxy(
        id=id_,
        address=address,
        sealed=sealed,
        tier=Tier(tier),
        source=source,
        state=ProxyState(state),
        score=float(score),
        anonymity=Anonymity(found.get("anonymity", Anonymity.UNKNOWN)),
        exit_address=found.get("exit_address"),
        latency_ms=found.get("latency_ms"),
        has_tls=found.get("has_tls"),
        reaches_target=found.get("reaches_target"),
        problem=found.get("problem"),
        failures=failures,
        cools=cools,
        cooled_until=None if cooled_until is None else cooled_until / 1000,
        uses=uses,
        successes=successes,
        checked_at=None if checked_at is None else checked_at / 1000,
        created_at=created_at / 1000,
    )


def _row_of(proxy: PooledProxy) -> dict[str, Any]:
    found = {
        "anonymity": proxy.anonymity.value,
        "exit_address": proxy.exit_address,
        "latency_ms": proxy.latency_ms,
        "has_tls": proxy.has_tls,
        "reaches_target": proxy.reaches_target,
        "problem": proxy.problem,
    }
    return values(
        id=proxy.id,
        state=proxy.state.value,
        score=proxy.score,
        found=to_json(found),
        failures=proxy.failures,
        cools=proxy.cools,
        cooled_until=None if proxy.cooled_until is None else round(proxy.cooled_until * 1000),
        uses=proxy.uses,
        successes=proxy.successes,
        checked_at=None if proxy.checked_at is None else round(proxy.checked_at * 1000),
    )
