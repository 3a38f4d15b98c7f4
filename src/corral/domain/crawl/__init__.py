"""Crawls: plan, items, scope, traps, final states."""
