"""Queries on the queue of scraper tasks."""
