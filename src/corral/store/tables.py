"""The tables. Times are UTC milliseconds; documents are JSON (JSONB on PostgreSQL)."""

import sqlalchemy as sa

from corral.store import coverage_tables, dataset_tables, proxy_tables, site_tables, table_types, workflow_tables  # noqa: F401

metadata, Document, Millis = table_types.metadata, table_types.Document, table_types.Millis

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("document", Document, nullable=False),
    sa.Column("frequency", sa.Text, nullable=False),
    sa.Column("next_slot", Millis),
    sa.Column("created_at", Millis, nullable=False),
    sa.Column("updated_at", Millis, nullable=False),
    sa.Column("proxy_kid", sa.Text),  # id of the vault key that seals its proxy
)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("job_id", sa.Text),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("kind", "state")),
    sa.Column("priority", sa.SmallInteger, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("max_attempts", sa.Integer, nullable=False),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("requested_strategy", "resolved_strategy")),
    sa.Column("payload", Document, nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("losses", sa.Integer, nullable=False, server_default="0"),
    sa.Column("suspect", sa.SmallInteger, nullable=False, server_default="0"),
    sa.Column("due_at", Millis, nullable=False),
    sa.Column("created_at", Millis, nullable=False),
    sa.Column("hold_reason", sa.Text),
    sa.Column("owner", sa.Text),
    sa.Column("lease_until", Millis),
    sa.Column("started_at", Millis),
    sa.Column("finished_at", Millis),
    sa.Column("failure_code", sa.Text),
    sa.Column("failure_detail", sa.Text),
    sa.Column("error_message", sa.Text),
    sa.Column("stats", Document, nullable=False, server_default="{}"),
    sa.Column("attempts", Document, nullable=False, server_default="[]"),
    sa.Column("retry_of", sa.Text),
    sa.Column("parent_id", sa.Text),
    # For a queued run whose host accepts no request: the reason, and the host key.
    sa.Column("waiting_reason", sa.Text),
    sa.Column("waiting_host", sa.Text),
    sa.Column("interruptions", sa.Integer, nullable=False, server_default="0"),
    sa.Column("host_key", sa.Text),  # null if it fetches from no host, or from many
    # The number of the run's last event, raised in the statement that changes the run.
    sa.Column("seq", sa.Integer, nullable=False),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("position", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("meta", Document, nullable=False),
    sa.Column("created_at", Millis, nullable=False),
)

records = sa.Table(
    "records",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("job_id", sa.Text),
    sa.Column("item_key", sa.Text, nullable=False),
    sa.Column("data", Document, nullable=False),
    sa.Column("created_at", Millis, nullable=False),
    sa.Column("details", Document),
    sa.Column("row_key", sa.Text),  # the same in every run of the job; null: the item key identifies the row
    sa.Column("digest", sa.Text),  # of the data; null if it was not computed
)

idempotency = sa.Table(
    "idempotency_keys",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("resource_id", sa.Text, nullable=False),
    sa.Column("created_at", Millis, nullable=False),
)

slots = sa.Table(
    "schedule_slots",
    metadata,
    sa.Column("job_id", sa.Text, primary_key=True),
    sa.Column("slot", Millis, primary_key=True),
    sa.Column("run_id", sa.Text, nullable=False),
)

site_memory = sa.Table(
    "site_memory",
    metadata,
    sa.Column("host", sa.Text, primary_key=True),
    sa.Column("fields_key", sa.Text, primary_key=True),
    sa.Column("strategy", sa.Text, primary_key=True),
    sa.Column("attempts", sa.BigInteger, nullable=False),
    # Sums in which older observations decay: see domain/sites/site.py.
    *(sa.Column(name, sa.Double, nullable=False) for name in ("weight", "successes", "requested", "found", "cost_ms")),
    sa.Column("updated_at", Millis, nullable=False),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("job_id", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("kid", sa.Text, nullable=False),
    # Encrypted; only the vault can read them.
    sa.Column("wrapped_key", sa.Text, nullable=False),
    sa.Column("box", sa.Text, nullable=False),
    sa.Column("about", Document, nullable=False),
    sa.Column("created_at", Millis, nullable=False),
    sa.Column("updated_at", Millis, nullable=False),
    sa.Column("checked_at", Millis),
    sa.Column("check_result", sa.Text),
)

interventions = sa.Table(
    "interventions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("job_id", sa.Text),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("url", sa.Text),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("created_at", Millis, nullable=False),
    sa.Column("resolved_at", Millis),
    sa.Column("screenshot", sa.Text),  # artifact that shows a person what to solve
)

artifacts = sa.Table(
    "artifacts",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("created_at", Millis, nullable=False),
)

recipes = sa.Table(
    "recipes",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("url_pattern", sa.Text, nullable=False),
    sa.Column("fields_key", sa.Text, nullable=False),
    sa.Column("document", Document, nullable=False),
    sa.Column("pinned", sa.SmallInteger, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at", Millis, nullable=False),
    sa.Column("updated_at", Millis, nullable=False),
)

items = sa.Table(
    "items",
    metadata,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("url_key", sa.Text, nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("depth", sa.Integer, nullable=False),
    sa.Column("rank", sa.Double, nullable=False),  # lower is fetched first
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("due_at", Millis, nullable=False),  # 0 before its first retry
    sa.Column("parent", sa.BigInteger),  # item on whose page it was first found
    sa.Column("reason", sa.Text),
    sa.Column("message", sa.Text),
    sa.Column("http_status", sa.Integer),
    sa.Column("updated_at", Millis, nullable=False),
    sa.Column("kind", sa.Text, nullable=False, server_default="page"),  # see domain.crawl.item
    sa.Column("losses", sa.Integer, nullable=False, server_default="0"),  # workers that died while they held it
    sa.Column("version", sa.Text),  # content version, for the next crawl of the site
    sa.Column("change", sa.Text),  # since an earlier crawl
    sa.Column("lastmod", sa.Text),  # from a sitemap
    sa.Column("helper", sa.SmallInteger, nullable=False, server_default="0"),  # worker number; 0 is the crawl run
)

crawls = sa.Table(
    "crawls",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("epoch", sa.BigInteger, nullable=False),  # epoch of the claim that last leased items
    # Updated with every change of an item: counting a million items for each page would dominate the work.
    *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("pending", "leased", "done")),
    *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("failed", "skipped", "size")),
    sa.Column("current_url", sa.Text),
    sa.Column("updated_at", Millis, nullable=False),
    sa.Column("suspects", sa.Integer, nullable=False, server_default="0"),  # 1 while some items are retried separately
    sa.Column("dropped", sa.BigInteger, nullable=False, server_default="0"),  # links beyond the item limit
    sa.Column("copied", sa.BigInteger, nullable=False, server_default="0"),  # last item copied from an earlier crawl
    sa.Column("has_helpers", sa.SmallInteger, nullable=False, server_default="0"),  # 1 once a helper was queued
    *(sa.Column(name, sa.BigInteger, nullable=False, server_default="0") for name in ("missing", "deferred")),
    sa.Column("merged", sa.BigInteger, nullable=False, server_default="0"),  # URLs merged because of session ids
    *(sa.Column(name, sa.BigInteger, nullable=False, server_default="0") for name in table_types.SPENT),
    sa.Column("latency", table_types.Document),  # number of pages by their time: see LatencyHistogram
)

crawl_helpers = sa.Table(
    "crawl_helpers",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("number", sa.SmallInteger, primary_key=True),
    sa.Column("helper_run_id", sa.Text, nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),  # epoch of the claim that joined; 0 before it joins
    sa.Column("concurrency", sa.Integer, nullable=False),
    sa.Column("target_concurrency", sa.Integer, nullable=False),
    sa.Column("wants_work", sa.SmallInteger, nullable=False),
    sa.Column("done", sa.SmallInteger, nullable=False),
)

# Hosts of a crawl that a helper reads; the crawl run itself reads all others.
crawl_host_owners = sa.Table(
    "crawl_host_owners",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("host_key", sa.Text, primary_key=True),
    sa.Column("helper", sa.SmallInteger, nullable=False),
    # 0: the helper has it; 1: the crawl run still reads its pages; 2: the helper does not know it yet
    sa.Column("handover_state", sa.SmallInteger, nullable=False),
)

# Requested pages of each host, for crawls that limit them.
crawl_hosts = sa.Table(
    "crawl_hosts",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("host", sa.Text, primary_key=True),
    sa.Column("pages", sa.BigInteger, nullable=False),
)

# Counts of each URL template: see domain.crawl.templates.traps.
crawl_templates = sa.Table(
    "crawl_templates",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("tally", sa.Text, nullable=False),
    sa.Column("growth", sa.Double, nullable=False, server_default="0"),  # smallest first, among deferred items
)

# Results of the pages of each host, per crawl; an empty run_id holds the sum of all deleted crawls.
site_statistics = sa.Table(
    "site_statistics",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("host", sa.Text, primary_key=True),
    sa.Column("state", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("pages", sa.BigInteger, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("took_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at", Millis, nullable=False),
    *(sa.Column(name, sa.BigInteger, nullable=False, server_default="0") for name in table_types.SPENT_OF_SITE),
)

# The profile of a job's good data: see domain.quality.run_profile.
data_profiles = sa.Table(
    "data_profiles",
    metadata,
    *(sa.Column(name, sa.Text, primary_key=True) for name in ("owner", "template")),
    sa.Column("document", Document, nullable=False),
    sa.Column("updated_at", Millis, nullable=False),
)

# Runs whose records are withheld because of the verdict on their data.
withheld_runs = sa.Table(
    "withheld_runs",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("verdict", "owner", "template")),
    sa.Column("profile", Document, nullable=False),  # learned if a person accepts the data
    sa.Column("created_at", Millis, nullable=False),
)

pinned_runs = sa.Table(
    "pinned_runs",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("created_at", Millis, nullable=False),
)

# Deleted crawls with remaining rows: too many to delete in one transaction.
purge_queue = sa.Table(
    "purge_queue",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("with_records", sa.SmallInteger, nullable=False),
)

pages = sa.Table(
    "pages",
    metadata,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("item_key", sa.Text, nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("requested_url", sa.Text),
    sa.Column("http_status", sa.Integer, nullable=False),
    sa.Column("headers", sa.Text, nullable=False),  # JSON as text: the order of headers matters
    sa.Column("body", sa.LargeBinary, nullable=False),  # compressed with zstd
    sa.Column("fetched_at", Millis, nullable=False),
)

hosts = sa.Table(
    "hosts",
    metadata,
    sa.Column("host_key", sa.Text, primary_key=True),  # see domain/hosts/limiter.py
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("opened_at", Millis),  # since when its breaker is open
    sa.Column("probed_at", Millis),  # when the probe in flight was sent
    sa.Column("blocked_until", Millis, nullable=False),  # from the host's Retry-After
    # The pace that a person has set.
    sa.Column("concurrency", sa.Integer),
    sa.Column("delay_ms", sa.Integer),
    sa.Column("updated_at", Millis, nullable=False),
)

# The quota of each node where several nodes send requests to one host: see domain/hosts/quota.py.
host_quotas = sa.Table(
    "host_quotas",
    metadata,
    sa.Column("host_key", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, primary_key=True),
    *(sa.Column(name, sa.Integer, nullable=False) for name in ("slots", "wanted", "has_pause")),
    *(sa.Column(name, Millis, nullable=False) for name in ("since", "until")),
)

# Nodes that are alive or were recently: see domain/runs/node.py. Only the runs record what each node holds.
nodes = sa.Table(
    "nodes",
    metadata,
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("transport", sa.Text, nullable=False),
    sa.Column("queues", sa.Text, nullable=False),  # comma-separated names
    sa.Column("concurrency", sa.Integer, nullable=False),
    sa.Column("processes", sa.Integer, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("started_at", Millis, nullable=False),
    sa.Column("seen_at", Millis, nullable=False),
    sa.Column("stopping", sa.SmallInteger, nullable=False),
)

meta = sa.Table(
    "corral_meta",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

# The queue of scraper tasks: see domain/queue.
queue_tasks = sa.Table(
    "queue_tasks",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),  # the order of import
    sa.Column("registry", sa.Text, nullable=False),  # scraper configuration that defines its scraper
    sa.Column("priority", sa.SmallInteger, nullable=False),
    sa.Column("scraper", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("document", Document, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("imported_at", Millis, nullable=False),
    sa.Column("run_id", sa.Text),  # its latest run
    sa.Column("starts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("reason", sa.Text),
    sa.Column("started_at", Millis),
    sa.Column("ended_at", Millis),
    sa.Column("history", Document, nullable=False, server_default="[]"),  # earlier runs, even deleted ones
)

queue_scrapers = sa.Table(
    "queue_scrapers",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("next_due", Millis, nullable=False),
)
