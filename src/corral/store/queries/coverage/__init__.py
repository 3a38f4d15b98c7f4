"""Queries of reconciliation."""
