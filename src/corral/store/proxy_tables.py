"""The tables of the proxy pool: see domain/proxies."""

import sqlalchemy as sa

from corral.store.table_types import Document, Millis, metadata

proxies = sa.Table(
    "proxies",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("identity", sa.Text, nullable=False),  # address, and a digest of the user name
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("sealed", sa.Text),
    sa.Column("kid", sa.Text),  # id of the vault key that seals the credentials
    sa.Column("tier", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("score", sa.Double, nullable=False),
    sa.Column("found", Document, nullable=False),  # results of the last check, and the last problem
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("cools", sa.Integer, nullable=False),
    sa.Column("cooled_until", Millis),
    sa.Column("uses", sa.BigInteger, nullable=False),
    sa.Column("successes", sa.BigInteger, nullable=False),
    sa.Column("checked_at", Millis),
    sa.Column("created_at", Millis, nullable=False),
)

# Results of a proxy at a site. Numbers up to 0 stand for the tiers.
proxy_sites = sa.Table(
    "proxy_sites",
    metadata,
    sa.Column("proxy_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("site", sa.Text, primary_key=True),
    sa.Column("good", sa.Double, nullable=False),
    sa.Column("bad", sa.Double, nullable=False),
    sa.Column("updated_at", Millis, nullable=False),
)

proxy_refreshes = sa.Table(
    "proxy_refreshes",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),  # id of its run; sorts by age
    sa.Column("created_at", Millis, nullable=False),
    sa.Column("chunk_runs", Document),  # ids of the runs that check the chunks
    sa.Column("completed_at", Millis),
    sa.Column("result_count", sa.Integer),
)

sa.Index("proxies_by_identity", proxies.c.identity, unique=True)
sa.Index("proxies_by_state", proxies.c.state, proxies.c.score)
