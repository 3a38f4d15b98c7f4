"""The HTTP server: the protocol of uvicorn with limits on size and time of requests."""
