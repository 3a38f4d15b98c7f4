import random
import socket

# Below the range the kernel hands out for outgoing connections (32768 and up on Linux): a service that is
# stopped for a moment finds its port still free.
PORTS = range(20_000, 32_000)


def free_port() -> int:
    """A loopback port nobody listens on right now."""
    for port in random.sample(PORTS, 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("a hundred ports tried, none is free")
