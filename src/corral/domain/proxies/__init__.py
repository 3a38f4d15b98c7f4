"""The proxy pool: lists, checks, scores, choice, policies and refreshes, as decisions over values."""
