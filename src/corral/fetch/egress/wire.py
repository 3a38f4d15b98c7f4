"""Send one request to a pinned address with wreq, and turn its exceptions into failures."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, lru_cache
from ipaddress import ip_address
from typing import Any

import wreq
from wreq import exceptions, redirect

from corral.domain.net.url import Target
from corral.domain.runs.outcome import Failed
from corral.fetch.body import Body, BodyFault, BodyFull, content_coding
from corral.fetch.egress.dns import PinnedAddress
from corral.fetch.faults import fault
from corral.fetch.large_bodies import BodyPace
from corral.fetch.limits import FetchLimits

WIRE_ERRORS: tuple[type[Exception], ...] = (
    exceptions.TlsError,
    exceptions.ConnectionError,
    exceptions.ProxyConnectionError,
    exceptions.ConnectionResetError,
    exceptions.BodyError,
    exceptions.BuilderError,
    exceptions.DecodingError,
    exceptions.StatusError,
    exceptions.RequestError,
    exceptions.RedirectError,
    exceptions.UpgradeError,
    exceptions.TimeoutError,
)

# wreq has few exception classes; only their text names the cause. The first pattern that matches decides.
_BY_TEXT = (
    (r"kind: Connect, source: Some\(TimedOut|ConnectError\([^)]*TimedOut", "timeout:connect"),
    (r"kind: Body, source: TimedOut", "timeout:read"),
    (r"TimedOut", "timeout:first_byte"),
    (r"ConnectionRefused", "network:refused"),
    (r"dns error", "network:dns"),
    # The connection ended inside a chunk, or before the size of the next one.
    (r"IncompleteBody|UnexpectedEof.*Body|Body, Custom \{ kind: UnexpectedEof", "network:incomplete"),
    # HTTP/2: reset by the peer; or by us, because of a wrong body length or a header block that is too large.
    (r"Reset\(StreamId\(\d+\), \w+, Remote\)", "network:reset"),
    (r"Body, Error \{ kind: Reset\(StreamId\(\d+\), PROTOCOL_ERROR, Library\)", "network:incomplete"),
    (r"SendRequest.*Reset\(StreamId\(\d+\), PROTOCOL_ERROR, Library\)", "bad_response:headers"),
    (r"Parse\(TooLarge\)|Parse\(Header\(Token\)\)", "bad_response:headers"),
    (r"Parse\(|Invalid chunk|InvalidInput|UnexpectedMessage", "bad_response:protocol"),
    (r"(?i)\bssl\b|tls|certificate|handshake", "network:tls"),
    (
        r"ConnectionReset|BrokenPipe|ConnectionAborted|IncompleteMessage|ChannelClosed|Canceled",
        "network:reset",
    ),
    (r"(?i)http2|GoAway|PROTOCOL_ERROR", "bad_response:protocol"),
)
_COMPILED = tuple((re.compile(pattern), name) for pattern, name in _BY_TEXT)
_header_names: dict[bytes | memoryview, str] = {}
_MAX_NAMES = 1024
# A body with a smaller Content-Length is read at once: it cannot grow beyond that.
_SMALL_BYTES = 256 * 1024
_TLS_REASON = re.compile(r'reason: "([A-Z0-9_]+)"')


@dataclass(frozen=True, slots=True)
class Head:
    status: int
    headers: tuple[tuple[str, str], ...]
    location: bytes | None
    answer: wreq.Response


@dataclass(frozen=True, slots=True)
class HopRequest:
    """One request without its redirects. With a `body` the method is POST."""

    target: Target
    pinned: PinnedAddress
    headers: Mapping[str, str]
    body: bytes | None = None
    first_byte_s: float | None = None  # raises FetchLimits.first_byte_s


def client_options(limits: FetchLimits, user_agent: str, *, verifies_tls: bool) -> dict[str, Any]:
    """Return the options of every client: limits, and no redirects, cookies or decoding of its own."""
    unverified = {} if verifies_tls else {"tls_verify": False, "tls_verify_hostname": False}
    return {
        "user_agent": user_agent,
        "redirect": redirect.Policy.none(),
        "referer": False,
        "cookie_store": False,
        "gzip": False,
        "brotli": False,
        "deflate": False,
        "zstd": False,
        "connect_timeout": timedelta(seconds=limits.connect_s),
        "read_timeout": timedelta(seconds=limits.first_byte_s),
        "http1_options": wreq.Http1Options(max_headers=limits.max_headers, max_buf_size=4 * limits.max_header_bytes),
        "http2_options": wreq.Http2Options(max_header_list_size=limits.max_header_bytes, enable_push=False),
        **unverified,
    }


@cache
def _runtime() -> wreq.Runtime:
    """Return the runtime of all clients of a process.

    It has one thread: the event loop cannot use more, and several threads wake each other.
    """
    return wreq.Runtime(workers=1)


def open_client(
    pinned: PinnedAddress, limits: FetchLimits, user_agent: str, *, verifies_tls: bool = True
) -> wreq.Client:
    """Open a client that dials only the pinned addresses."""
    dns = wreq.DnsOptions()
    dns.add_resolve(pinned.host, [ip_address(ip) for ip in pinned.ips])
    return wreq.Client(
        runtime=_runtime(),
        dns_options=dns,
        no_proxy=True,  # proxies of the environment would bypass the pin
        pool_idle_timeout=timedelta(seconds=30),
        pool_max_idle_per_host=64,  # with fewer than the concurrent requests, nearly every page would open a connection
        **client_options(limits, user_agent, verifies_tls=verifies_tls),
    )


async def send(client: wreq.Client, request: HopRequest, limits: FetchLimits) -> Head | Failed:
    """Send the request and read the answer up to the end of its headers."""
    # Passed only if it differs: the client's default limit costs nothing per request.
    options: dict[str, Any] = {}
    if request.first_byte_s is not None:
        options["read_timeout"] = timedelta(seconds=max(request.first_byte_s, limits.first_byte_s))
    url, headers = request.target.request_url, dict(request.headers)
    try:
        if request.body is None:
            answer = await client.get(url, headers=headers, **options)
        else:
            answer = await client.post(url, headers=headers, body=request.body, **options)
    except WIRE_ERRORS as error:
        return fault_of(error)
    head = _check_head(answer, request.pinned, limits)
    if isinstance(head, Failed):
        await answer.close()
    return head


def _check_head(answer: wreq.Response, pinned: PinnedAddress, limits: FetchLimits) -> Head | Failed:
    peer = answer.remote_addr
    # Second check: the client pins the address, this proves it.
    if peer is None or _ip_of(str(peer)) not in pinned.ips:
        return fault("policy:egress", pinned.host)
    headers = answer.headers
    names, values = headers.keys(), headers.values()
    # Several times faster than reading pairs one by one, but keys() lists a repeated name only once.
    pairs = zip(names, values, strict=True) if len(names) == len(values) else headers
    decoded = tuple([(_header_name(name), str(value, "latin-1")) for name, value in pairs])
    size = sum([len(name) + len(value) + 4 for name, value in decoded])
    if len(decoded) > limits.max_headers or size > limits.max_header_bytes:
        return fault("bad_response:headers", f"{len(decoded)} headers, {size} bytes")
    location = next((value for name, value in decoded if name == "location"), None)
    return Head(answer.status.as_int(), decoded, location.encode("latin-1") if location else None, answer)


@lru_cache(maxsize=1024)
def _ip_of(peer: str) -> str:
    """Return the address of `192.0.2.1:80` or `[2001:db8::1]:80`."""
    ip = ip_address(peer.rpartition(":")[0].strip("[]"))
    return str(getattr(ip, "ipv4_mapped", None) or ip)


def _header_name(raw: memoryview) -> str:
    # Servers send the same few names in every answer.
    name = _header_names.get(raw)
    if name is None:
        name = str(raw, "ascii", "replace").lower()
        if len(_header_names) >= _MAX_NAMES:
            _header_names.clear()
        _header_names[bytes(raw)] = name
    return name


async def read_body(
    head: Head, max_bytes: int, limits: FetchLimits, *, truncate: bool, first_byte_s: float | None = None
) -> Body | Failed:
    """Read the body within its limits. The caller closes the connection of a body that was not read to its end."""
    try:
        coding = content_coding([value for name, value in head.headers if name == "content-encoding"])
        _refuse_by_length(head, max_bytes, truncate=truncate)
    except BodyFault as stopped:
        return stopped.failure
    body = Body(coding, max_bytes, limits, truncate=truncate)
    announced = head.answer.content_length
    try:
        if (
            coding is None
            and announced is not None
            and announced <= _SMALL_BYTES
            and _client_limits_gaps(limits, first_byte_s)
        ):
            body.feed(await head.answer.bytes())
        else:
            await _stream_body(head.answer, body, limits.gap_s)
        body.finish()
    except BodyFull:
        return body
    except TimeoutError:
        return fault("timeout:read")
    except BodyFault as stopped:
        return stopped.failure
    except WIRE_ERRORS as error:
        return fault_of(error, in_body=True)
    return body


def _client_limits_gaps(limits: FetchLimits, first_byte_s: float | None) -> bool:
    """True if the client's own read timeout is at most the allowed gap."""
    return first_byte_s is None and limits.first_byte_s <= limits.gap_s


async def _stream_body(answer: wreq.Response, body: Body, gap_s: float) -> None:
    clock, pace = asyncio.get_running_loop().time, BodyPace()
    async with asyncio.timeout(gap_s) as timeout, answer.stream() as pieces:
        async for piece in pieces:
            if isinstance(piece, memoryview):
                timeout.reschedule(None)  # the host does not cause the waits below
                for _ in body.feed_in_steps(piece):
                    await asyncio.sleep(0)
                    await pace.wait(body.size)
                await pace.wait(body.size)
            timeout.reschedule(clock() + gap_s)


def _refuse_by_length(head: Head, max_bytes: int, *, truncate: bool) -> None:
    announced = head.answer.content_length
    if announced is not None and announced > max_bytes and not truncate:
        raise BodyFault(
            fault(
                "limit:body_too_large",
                f"Content-Length is {announced} bytes, more than {max_bytes}",
                announced_bytes=announced,
                decoded_bytes=0,
                ratio=0,
            )
        )


def fault_of(error: Exception, *, in_body: bool = False) -> Failed:
    """Return the failure for a wreq exception, without its text: that contains the resolved address."""
    text = str(error)
    if isinstance(error, exceptions.TlsError):
        return _tls_fault(text)
    if isinstance(error, exceptions.TimeoutError) and in_body:
        return fault("timeout:read")
    for pattern, name in _COMPILED:
        if pattern.search(text):
            return _tls_fault(text) if name == "network:tls" else fault(name)
    if isinstance(error, exceptions.ConnectionError):
        return fault("network:unreachable")
    if isinstance(error, exceptions.ConnectionResetError):
        return fault("network:reset")
    return fault("bad_response:protocol")


def _tls_fault(text: str) -> Failed:
    reason = _TLS_REASON.search(text)
    return fault("network:tls", reason[1].lower().replace("_", " ") if reason else "")
