"""Validate, generate and apply the selectors of fields."""
