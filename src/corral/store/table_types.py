"""What the tables have in common. Times are UTC milliseconds; documents are JSON (JSONB on PostgreSQL)."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

metadata = sa.MetaData()

Document = sa.Text().with_variant(JSONB(), "postgresql")
Millis = sa.BigInteger()
