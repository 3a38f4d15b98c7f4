"""Selectors of fields: validated, generated, matched."""
