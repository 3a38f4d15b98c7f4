"""Crawls: plan, items, scope, traps, how they end."""
