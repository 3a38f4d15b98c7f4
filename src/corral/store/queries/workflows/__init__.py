"""Workflows: their definitions, their steps, and what follows when a child run ends."""
