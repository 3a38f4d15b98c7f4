"""How fast a host is asked: rate limit, circuit breaker, quotas of nodes."""
