"""Limits of requests to a host: rate limit, circuit breaker, node quotas."""
