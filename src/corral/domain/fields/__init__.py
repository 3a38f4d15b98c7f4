"""Fields of a page: their recipes, their types and the rules for their values."""
