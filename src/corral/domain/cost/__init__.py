"""What attempts cost, and the budgets that bound it."""
