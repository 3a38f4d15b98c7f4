"""Workflows: their definitions, their steps, and the effects of ended child runs."""
