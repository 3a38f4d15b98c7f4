"""The tables of site configurations, campaigns and alert channels."""

import sqlalchemy as sa

from corral.store.table_types import Document, Millis, metadata

# Site configurations written over HTTP; others come from a folder of files.
site_configs = sa.Table(
    "site_configs",
    metadata,
    sa.Column("site", sa.Text, primary_key=True),  # see domain/site_config/site_key.py
    sa.Column("document", Document, nullable=False),
    sa.Column("updated_at", Millis, nullable=False),
)

# Sites that are scraped together: see domain/campaigns.
campaigns = sa.Table(
    "campaigns",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),  # sorts by age
    sa.Column("created_at", Millis, nullable=False),
    sa.Column("ended_at", Millis),
    sa.Column("report", Document),  # written at the end, because the runs may be deleted later
    sa.Column("raised", Document),  # by channel: the findings of its alerts so far
    sa.Column("raised_count", sa.Integer, nullable=False, server_default="0"),  # how often alerts were raised
)

campaign_sites = sa.Table(
    "campaign_sites",
    metadata,
    sa.Column("campaign_id", sa.Text, primary_key=True),
    sa.Column("site", sa.Text, primary_key=True),
    sa.Column("place", sa.Integer, nullable=False),  # index of the site in the request
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("waits_for", Document, nullable=False),
    sa.Column("released_at", Millis),  # null while it waits for other sites
)

# The destinations of alerts: see domain/alerts.
alert_channels = sa.Table(
    "alert_channels",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("rules", Document, nullable=False),
    sa.Column("shown", sa.Text, nullable=False),  # destination without its secrets
    sa.Column("sealed", sa.Text, nullable=False),  # only the vault opens it
    sa.Column("kid", sa.Text, nullable=False),
    sa.Column("updated_at", Millis, nullable=False),
)

sa.Index(
    "campaigns_open",
    campaigns.c.id,
    sqlite_where=sa.text("ended_at IS NULL"),
    postgresql_where=sa.text("ended_at IS NULL"),
)
sa.Index("campaign_sites_by_run", campaign_sites.c.run_id)
