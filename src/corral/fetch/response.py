"""An HTTP answer of any status, with its whole body."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Response:
    url: str  # final URL, after redirects
    status: int
    headers: tuple[tuple[str, str], ...]  # names in lower case
    body: bytes
    raw_bytes: int  # as sent, before decompression
    chain: tuple[str, ...] = ()  # the URLs before the last
    truncated: bool = False
    timings: dict[str, int] = field(default_factory=dict)
    cache: str | None = None  # hit, revalidated or miss; None without a cache

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)
