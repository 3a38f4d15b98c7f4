"""Addresses, URLs, cookies, proxies, HTTP caching rules."""
