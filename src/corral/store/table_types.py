"""Common parts of the tables. Times are UTC milliseconds; documents are JSON (JSONB on PostgreSQL)."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

metadata = sa.MetaData()

Document = sa.Text().with_variant(JSONB(), "postgresql")
Millis = sa.BigInteger()
# Cost columns of pages: see domain/cost/spent.py.
SPENT_OF_SITE = ("requests", "browser_ms", "cpu_ms", "proxy_nanos")
SPENT = ("took_ms", *SPENT_OF_SITE)
