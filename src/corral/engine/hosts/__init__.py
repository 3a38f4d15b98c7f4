"""The host limiter: slots, quotas, deferred requests."""
