"""Bind the port, before anything else is loaded or started."""

import socket

from corral.domain.errors import BadConfiguration

# Connections that the kernel completes while the event loop is busy; a client beyond this retries after a second.
BACKLOG = 8192
_RECEIVE_BUFFER_BYTES = 32 * 1024


def bind_listener(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise BadConfiguration with the reason if the address cannot be bound."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise BadConfiguration(
            [f"cannot listen on {host}:{port} ({error.strerror or error}); choose another with --port or --host"]
        ) from error
    # Connections inherit this. Unread data of a client waits in the kernel, not in the memory of this process.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
    return listening
