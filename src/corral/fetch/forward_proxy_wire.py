"""What the forward proxy reads and says, as bytes: requests parsed strictly, answers without what is ours to say."""

import re
from dataclasses import dataclass

from corral.domain.errors import BadInput
from corral.domain.outcome import Failed, FailureCode
from corral.domain.url import Target, parse_target
from corral.fetch.faults import fault

FAULT_HEADER = "x-corral-fault"

_MAX_URL_CHARS = 32 * 1024
_AUTHORITY = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@\[\]:\\]+):\d{1,5}")
_REQUEST_LINE = re.compile(r"([A-Z]{1,20}) (\S+) HTTP/1\.[01]")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00\r\n]*)")
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])(?: [^\x00\r\n]*)?")
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "te", "trailer", "upgrade", "expect", "host"})


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    where: str
    headers: tuple[tuple[str, str], ...]  # names in lower case

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]

    @property
    def body_bytes(self) -> int | None:
        """What follows the head; None where that cannot be told for sure."""
        lengths = self.values("content-length")
        if self.values("transfer-encoding") or len(lengths) > 1:
            return None
        if not lengths:
            return 0
        return int(lengths[0]) if re.fullmatch(r"[0-9]{1,15}", lengths[0]) else None

    def head_for(self, target: Target) -> bytes:
        path = target.path + ("" if target.query is None else f"?{target.query}")
        lines = [f"{self.method} {path} HTTP/1.1", f"host: {target.authority}", "connection: close"]
        lines += [f"{name}: {value}" for name, value in self.headers if not _is_ours(name)]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def read_request(head: bytes) -> Request | None:
    first, *rest = head[:-4].decode("latin-1").split("\r\n")
    line = _REQUEST_LINE.fullmatch(first)
    headers = [_HEADER.fullmatch(each) for each in rest]
    if line is None or not all(headers):
        return None
    return Request(line[1], line[2], tuple((each[1].lower(), each[2].rstrip(" \t")) for each in headers if each))


def target_of(request: Request) -> Target | Failed:
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
    return name in _HOP_BY_HOP or name.startswith(("proxy-", "x-corral-"))


def _kept_lines(lines: list[bytes]) -> list[bytes]:
    """A target's headers without those that are ours to say. A folded line shares the fate of the one before."""
    kept: list[bytes] = []
    keeps = False
    for line in lines:
        if not line.startswith((b" ", b"\t")):
            name = line.partition(b":")[0].decode("latin-1").strip().lower()
            keeps = not _is_ours(name) or name in ("trailer", "expect")
        if keeps:
            kept.append(line)
    return kept


def answer(status: int, reason: str, *headers: str, closes: bool = True) -> bytes:
    lines = [f"HTTP/1.1 {status} {reason}", "content-length: 0", *headers, *(["connection: close"] if closes else [])]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def refusal(failure: Failed) -> bytes:
    status, reason = (403, "Forbidden") if failure.code is FailureCode.POLICY else (502, "Bad Gateway")
    return answer(status, reason, f"{FAULT_HEADER}: {failure.code.value}:{failure.detail}")


def final_head(head: bytes) -> bytes | None:
    """A target's answer head as it is passed on; empty for an interim one, None for what is not valid HTTP."""
    lines = head[:-4].split(b"\r\n")
    status = _STATUS_LINE.fullmatch(lines[0])
    # We asked for no upgrade, and a 407 of the target would be taken for ours.
    if status is None or status[1] in (b"101", b"407"):
        return None
    if status[1].startswith(b"1"):
        return b""
    return b"\r\n".join([lines[0], *_kept_lines(lines[1:]), b"connection: close"]) + b"\r\n\r\n"
