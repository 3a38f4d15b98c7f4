"""The tables of dataset builds: see domain/datasets."""

import sqlalchemy as sa

from corral.store.table_types import Document, Millis, metadata

dataset_builds = sa.Table(
    "dataset_builds",
    metadata,
    sa.Column("build", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),  # the last run that worked on it
    sa.Column("progress", Document, nullable=False),
    sa.Column("updated_at", Millis, nullable=False),
)

# One row per image URL of a build. An interrupted build continues with the pending rows.
dataset_images = sa.Table(
    "dataset_images",
    metadata,
    sa.Column("build", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),  # the order of discovery
    *(sa.Column(name, sa.Text, nullable=False) for name in ("url", "category", "keyword", "page_url", "caption")),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("source", "state", "reason")),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("due_at", Millis, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("pack", sa.Text, nullable=False),  # the pack file that holds its bytes; the next columns give the range
    sa.Column("start", sa.BigInteger, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("recipe", sa.Text, nullable=False),
    sa.Column("is_indexed", sa.SmallInteger, nullable=False),  # whether dataset_pairs has its near pairs
    sa.Column("duplicate_of", sa.Text, nullable=False),
    sa.Column("distance", sa.Integer, nullable=False),
    sa.Column("facts", Document, nullable=False),
)

dataset_pairs = sa.Table(
    "dataset_pairs",
    metadata,
    *(sa.Column(name, sa.Text, primary_key=True) for name in ("build", "first", "second")),
    sa.Column("distance", sa.Integer, nullable=False),
)

sa.Index("dataset_images_by_state", dataset_images.c.build, dataset_images.c.state, dataset_images.c.due_at)
