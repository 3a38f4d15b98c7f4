"""Campaigns: sites that are scraped together, each by a run with its own limits."""
