"""The cost of attempts, and the budgets that limit it."""
