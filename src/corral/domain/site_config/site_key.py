"""The key of a site: its registrable domain, without `www.`; an address or a single label is a key by itself."""

from corral.domain.errors import BadInput
from corral.domain.net.public_suffix import registrable_domain
from corral.domain.net.url import Target, parse_target

_HINT = "write a domain such as example.com, with a port only if the site is one port of a host"


def site_key_of(target: Target) -> str:
    """Return the key of the site that a URL belongs to, with its port if that is not the default one."""
    name = target.host if target.is_literal_ip else registrable_domain(target.host)
    bracketed = f"[{name}]" if ":" in name else name
    return bracketed + target.authority.removeprefix(f"[{target.host}]" if ":" in target.host else target.host)


def parse_site_key(text: str, field: str = "site") -> str:
    """Parse a site as a person writes it: a domain, a host or a URL. BadInput if it has no valid host."""
    url = text if "://" in text else f"http://{text}"
    try:
        return site_key_of(parse_target(url, field=field))
    except BadInput:
        raise BadInput(f"{text[:80]!r} is not a site", field=field, hint=_HINT) from None


def parse_exact_key(text: str, field: str = "site") -> str:
    """Parse the site of a configuration, which applies to a whole site: a subdomain other than `www.` is refused."""
    key = parse_site_key(text, field)
    written = parse_target(text if "://" in text else f"http://{text}", field=field).authority.removeprefix("www.")
    if written != key:
        raise BadInput(
            f"{written[:80]!r} is a part of the site {key}; a configuration is for the whole site",
            field=field,
            hint=f"write {key}",
        )
    return key


def candidate_keys(target: Target) -> tuple[str, ...]:
    """Return the keys under which a configuration may apply to a URL: with its port, then without."""
    exact = site_key_of(target)
    bare = site_key_of(parse_target(f"http://[{target.host}]" if ":" in target.host else f"http://{target.host}"))
    return (exact,) if exact == bare else (exact, bare)
