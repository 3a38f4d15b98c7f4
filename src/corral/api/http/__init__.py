"""The HTTP server: uvicorn's protocol with limits on what a client may send, and for how long."""
