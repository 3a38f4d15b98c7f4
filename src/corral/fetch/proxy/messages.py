"""The messages of the forward proxy: strict parsing of requests, and answers without hop-by-hop headers."""

import re
from dataclasses import dataclass

from corral.domain.errors import BadInput
from corral.domain.net.url import Target, parse_target
from corral.domain.runs.outcome import Failed, FailureCode
from corral.fetch.body import BodyFault, content_coding
from corral.fetch.codings import CODINGS
from corral.fetch.faults import fault, is_fault

FAULT_HEADER = "x-corral-fault"

_MAX_URL_CHARS = 32 * 1024
_AUTHORITY = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@\[\]:\\]+):\d{1,5}")
_REQUEST_LINE = re.compile(r"([A-Z]{1,20}) (\S+) HTTP/1\.[01]")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00\r\n]*)")
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])(?: [^\x00\r\n]*)?")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_REDIRECTS = frozenset({b"301", b"302", b"303", b"307", b"308"})
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "te", "trailer", "upgrade", "expect", "host"})
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)


_REFUSALS = {FailureCode.POLICY: (403, "Forbidden"), FailureCode.RATE_LIMITED: (503, "Service Unavailable")}


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    method: str
    where: str
    headers: tuple[tuple[str, str], ...]  # names in lower case

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]

    @property
    def body_bytes(self) -> int | None:
        """The length of the body; None if it is ambiguous."""
        lengths = self.values("content-length")
        if self.values("transfer-encoding") or len(lengths) > 1:
            return None
        if not lengths:
            return 0
        return int(lengths[0]) if re.fullmatch(r"[0-9]{1,15}", lengths[0]) else None

    @property
    def is_chunked(self) -> bool:
        """True if the body is chunked and nothing else specifies its length."""
        codings = [value.strip().lower() for value in self.values("transfer-encoding")]
        return codings == ["chunked"] and not self.values("content-length")

    def head_for(self, target: Target) -> bytes:
        path = target.path + ("" if target.query is None else f"?{target.query}")
        lines = [f"{self.method} {path} HTTP/1.1", f"host: {target.authority}", "connection: close"]
        lines.append(f"accept-encoding: {', '.join(self._codings()) or 'identity'}")
        lines += [f"{name}: {value}" for name, value in self.headers if not _is_ours(name)]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"

    def _codings(self) -> list[str]:
        """Return the codings that browser and egress share: those with a bounded decoded size."""
        accepted = [each.partition(";")[0] for value in self.values("accept-encoding") for each in value.split(",")]
        names = {each.strip().lower() for each in accepted}
        return [coding for coding in CODINGS if coding in names]


def read_request(head: bytes) -> ProxyRequest | None:
    first, *rest = head[:-4].decode("latin-1").split("\r\n")
    line = _REQUEST_LINE.fullmatch(first)
    headers = [_HEADER.fullmatch(each) for each in rest]
    if line is None or not all(headers):
        return None
    return ProxyRequest(line[1], line[2], tuple((each[1].lower(), each[2].rstrip(" \t")) for each in headers if each))


def target_of(request: ProxyRequest) -> Target | Failed:
    is_tunnel = request.method == "CONNECT"
    if is_tunnel and not _AUTHORITY.fullmatch(request.where):
        return fault("policy:url", "CONNECT names a host and a port")
    if not is_tunnel and not request.where.lower().startswith("http://"):
        return fault("policy:scheme")
    url = f"https://{request.where}/" if is_tunnel else request.where
    try:
        return parse_target(url, field="url", max_chars=_MAX_URL_CHARS)
    except BadInput as problem:
        return fault("policy:url", problem.message)


def _is_ours(name: str) -> bool:
    return name in _HOP_BY_HOP or name.startswith(("proxy-", "x-corral-")) or name == "accept-encoding"


def _drop_own_headers(lines: list[bytes]) -> list[bytes]:
    """Drop headers from a target that only we may set, together with their folded lines."""
    result: list[bytes] = []
    is_passed = False
    for line in lines:
        if not line.startswith((b" ", b"\t")):
            name = line.partition(b":")[0].decode("latin-1").strip().lower()
            is_passed = not _is_ours(name) or name in ("trailer", "expect")
        if is_passed:
            result.append(line)
    return result


def answer(status: int, reason: str, *headers: str, closes: bool = True) -> bytes:
    lines = [f"HTTP/1.1 {status} {reason}", "content-length: 0", *headers, *(["connection: close"] if closes else [])]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def refusal(failure: Failed) -> bytes:
    status, reason = _REFUSALS.get(failure.code, (502, "Bad Gateway"))
    return answer(status, reason, f"{FAULT_HEADER}: {failure.code.value}:{failure.detail}")


def fault_named(value: str | None) -> Failed | None:
    """Return the failure that our proxy named in its header."""
    return fault(value) if value is not None and is_fault(value) else None


def final_head(head: bytes, max_headers: int) -> bytes | Failed:
    """Return the answer head to pass on; empty for an interim answer. Refuses the same heads as the HTTP client."""
    lines = head[:-4].split(b"\r\n")
    status = _STATUS_LINE.fullmatch(lines[0])
    # No upgrade was requested, and the browser would mistake the target's 407 for one from the proxy.
    if status is None or status[1] in (b"101", b"407"):
        return fault("bad_response:protocol")
    if len(lines) - 1 > max_headers:
        return fault("bad_response:headers", f"{len(lines) - 1} headers")
    if any(_CONTROL.search(line) for line in lines[1:]):
        return fault("bad_response:headers", "a control character in a header")
    if status[1].startswith(b"1"):
        return b""
    failure = _contradiction(status[1], lines[1:])
    if failure is not None:
        return failure
    return b"\r\n".join([lines[0], *_drop_own_headers(lines[1:]), b"connection: close"]) + b"\r\n\r\n"


def _contradiction(status: bytes, lines: list[bytes]) -> Failed | None:
    """Refuse an ambiguous head, which browsers interpret differently."""
    lengths = {length.strip() for value in _values(lines, b"content-length") for length in value.split(b",")}
    if len(lengths) > 1 or not all(length.isdigit() for length in lengths):
        return fault("bad_response:protocol", "invalid Content-Length")
    try:
        content_coding([value.decode("latin-1") for value in _values(lines, b"content-encoding")])
    except BodyFault as problem:
        return problem.failure
    return _check_location(_values(lines, b"location")) if status in _REDIRECTS else None


def _check_location(locations: list[bytes]) -> Failed | None:
    if not locations:
        return fault("bad_response:location", "no Location header")
    try:
        scheme = _SCHEME.match(locations[0].decode("utf-8"))
    except UnicodeDecodeError:
        return fault("bad_response:location", "the Location header is not valid UTF-8")
    # Chromium drops such a redirect silently.
    return fault("policy:scheme") if scheme and scheme[1].lower() not in ("http", "https") else None


def _values(lines: list[bytes], name: bytes) -> list[bytes]:
    pairs = (line.partition(b":") for line in lines)
    return [value.strip() for key, _, value in pairs if key.strip().lower() == name]
