"""Workflows: steps with dependencies, each executed as a child run. Pure decisions; the store applies them."""
