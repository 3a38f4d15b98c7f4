"""Inventories of collected data (folders, S3 buckets, records, databases), compared with the expected keys."""
