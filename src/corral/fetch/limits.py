"""The limits of one fetch."""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FetchLimits:
    dns_s: float = 3.0
    connect_s: float = 5.0  # TCP and TLS together
    first_byte_s: float = 10.0
    gap_s: float = 10.0  # longest pause between two pieces of a body
    max_bytes: int = 10 * MIB  # before and after decompression
    max_ratio: int = 200  # decompressed to compressed, checked beyond `ratio_from_bytes`
    ratio_from_bytes: int = MIB
    max_value_chars: int = 1_000_000  # per extracted value
    max_headers: int = 200
    max_header_bytes: int = 64 * 1024
    max_clients: int = 256  # pinned clients that are reused
    # How long a checked DNS answer stays pinned; a lookup per page would double the cost of a page.
    dns_cache_s: float = 30.0
    max_dns_cached: int = 1024
