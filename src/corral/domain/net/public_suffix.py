"""Domains under which anyone can register a name, such as `co.uk` and `github.io`.

No site may set cookies for them; a site is a public suffix and one more label.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList


# Memo: one list for the process, loaded with the first lookup. Most processes never need its 4 MiB.
@lru_cache(maxsize=1)
def _load_suffixes() -> "PublicSuffixList":
    from publicsuffixlist import PublicSuffixList  # noqa: PLC0415

    return PublicSuffixList()


# Memo: the cookies of a site name the same few domains on every page.
@lru_cache(maxsize=1024)
def is_public_suffix(domain: str) -> bool:
    """True for an entry of the public suffix list, and for every single label. `domain` is lower-case ASCII."""
    return "." not in domain or bool(_load_suffixes().is_public(domain))


# Memo: the pages of a site have few hosts.
@lru_cache(maxsize=1024)
def registrable_domain(host: str) -> str:
    """Return the public suffix plus one label, or the host itself if it has no more labels.

    `host` is lower-case ASCII.
    """
    bare = host.removeprefix("www.") or host
    if "." not in bare:
        return bare
    return str(_load_suffixes().privatesuffix(bare) or _load_suffixes().privatesuffix(host) or bare)
