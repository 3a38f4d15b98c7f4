"""Connect through a job's proxy: dial it like any target, and send it a checked address, never a name.

Every problem with the proxy is `network:proxy`, also a target that it does not reach. There is no fallback to a direct
connection.
"""

import asyncio
import base64
import re
import ssl
from collections.abc import Awaitable, Callable
from ipaddress import ip_address

from corral.domain.net.proxy import OpenProxy
from corral.domain.net.url import Target
from corral.domain.runs.outcome import Failed, FailureCode
from corral.fetch.egress.dns import PinnedAddress
from corral.fetch.faults import fault

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Resolve = Callable[[Target], Awaitable[PinnedAddress | Failed]]

_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})[ \r]")
_OF_TARGET = (2, 3, 4, 5)  # refusals of SOCKS5 that may be the target's fault
_SOCKS_REFUSALS = {1: "a fault of its own", 2: "not allowed there", 3: "no network", 4: "no host", 5: "refused"}


async def tunnel(resolve: Resolve, proxy: OpenProxy, ip: str, port: int, within_s: float) -> Streams | Failed:
    """Open a connection to the address through the proxy."""
    pinned = await resolve(proxy.target)
    if isinstance(pinned, Failed):
        # A refusal by our policy keeps its code; a proxy name that does not resolve makes the proxy unusable.
        return pinned if pinned.code is FailureCode.POLICY else _unusable("its name could not be resolved")
    try:
        async with asyncio.timeout(within_s):
            return await _connect(proxy, pinned, ip, port)
    except TimeoutError:
        return _unusable("it did not answer in time")
    except ssl.SSLError:
        return _unusable("the TLS handshake with it failed")
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return _unusable("the connection to it was refused or cut")


async def _connect(proxy: OpenProxy, pinned: PinnedAddress, ip: str, port: int) -> Streams | Failed:
    is_tls = proxy.scheme == "https"
    reader, writer = await asyncio.open_connection(
        pinned.ip,
        pinned.port,
        limit=64 * 1024,
        ssl=ssl.create_default_context() if is_tls else None,
        # The certificate is for the name of the proxy, not for its address.
        server_hostname=pinned.host if is_tls else None,
    )
    is_open = False
    try:
        connect = _by_socks if proxy.scheme == "socks5" else _by_connect
        failure = await connect(reader, writer, proxy, ip, port)
        is_open = failure is None
        return failure or (reader, writer)
    finally:
        if not is_open:
            writer.transport.abort()


async def _by_connect(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, proxy: OpenProxy, ip: str, port: int
) -> Failed | None:
    authority = f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
    lines = [f"CONNECT {authority} HTTP/1.1", f"host: {authority}"]
    if proxy.user is not None and proxy.password is not None:
        token = base64.b64encode(f"{proxy.user.reveal()}:{proxy.password.reveal()}".encode()).decode()
        lines.append(f"proxy-authorization: Basic {token}")
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    await writer.drain()
    status = _STATUS.match(await reader.readuntil(b"\r\n\r\n"))
    if status is None:
        return _unusable("its answer is not HTTP")
    if status[1] == b"407":
        return _unusable("it asks for another user and password (407)")
    if status[1].startswith(b"2"):
        return None
    code = status[1].decode()
    reason = f"it refuses tunnels to port {port} ({code})" if code in ("403", "405") else f"it answered {code}"
    return _unusable(reason, proxy_refusal=code)


async def _by_socks(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, proxy: OpenProxy, ip: str, port: int
) -> Failed | None:
    """Connect by SOCKS5 (RFC 1928 and 1929)."""
    has_login = proxy.user is not None and proxy.password is not None
    writer.write(b"\x05\x01" + (b"\x02" if has_login else b"\x00"))
    await writer.drain()
    version, method = await reader.readexactly(2)
    if version != 5 or method not in (0, 2) or (method == 2) != has_login:
        return _unusable("it asks for another way to log in")
    if proxy.user is not None and proxy.password is not None:
        user, password = proxy.user.reveal().encode(), proxy.password.reveal().encode()
        writer.write(b"\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password)
        await writer.drain()
        if (await reader.readexactly(2))[1] != 0:
            return _unusable("it refused the user and password")
    address = ip_address(ip)
    kind = b"\x01" if address.version == 4 else b"\x04"
    writer.write(b"\x05\x01\x00" + kind + address.packed + port.to_bytes(2, "big"))
    await writer.drain()
    reply = await reader.readexactly(4)
    if reply[1] != 0:
        reason = f"it answered: {_SOCKS_REFUSALS.get(reply[1], 'it cannot')}"
        return _unusable(reason, **({"proxy_refusal": str(reply[1])} if reply[1] in _OF_TARGET else {}))
    sizes = {1: 4, 4: 16, 3: -1}
    size = sizes.get(reply[3], 0)
    await reader.readexactly((size if size >= 0 else (await reader.readexactly(1))[0]) + 2)
    return None


def _unusable(why: str, **stats: str) -> Failed:
    """Build the failure of a proxy. With `proxy_refusal`, the proxy answered that it cannot reach the target."""
    return fault("network:proxy", why, **stats)
