"""Parse lists of proxies, as files, providers and people write them: one per line, or JSON.

A line is `host:port`, `host:port:user:password`, `user:password@host:port` or a URL; text after it is ignored, as is
what follows ` #`. JSON is a list of such texts or of objects, bare or under `proxies`, `data`, `results` or `items`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from corral.domain.errors import BadInput
from corral.domain.net.pool_policy import POOL_TIERS, Tier
from corral.domain.net.proxy import SCHEMES, OpenProxy, parse_proxy

MAX_PROXIES = 200_000
_MAX_NAMED = 100  # malformed entries that are reported one by one
_LISTS = ("proxies", "data", "results", "items")
_COLON_FORM = re.compile(r"([^\s:@/]+|\[[0-9a-fA-F:.]+\]):([0-9]{1,5}):([^\s:]+):(\S+)")
_IPV6 = re.compile(r"\[[0-9a-fA-F:.]+\]:[0-9]")  # the first line of a plain list, and not JSON
_SCHEME = re.compile(r"([A-Za-z0-9]+)://")
_COMMENT = re.compile(r"(?:^|\s)#.*")  # a password may contain #
_ALIASES = {"socks": "socks5", "socks5h": "socks5", "connect": "http"}


@dataclass(frozen=True, slots=True)
class ListedProxy:
    proxy: OpenProxy
    tier: Tier


@dataclass(frozen=True, slots=True)
class MalformedEntry:
    """`index` counts entries from 1; `line` is that of a plain list. The text is not quoted: it may hold a password."""

    index: int
    reason: str
    line: int | None = None

    @property
    def where(self) -> str:
        return f"entry {self.index}" if self.line is None else f"line {self.line}"

    def document(self) -> dict[str, Any]:
        return {"index": self.index, "line": self.line, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class ProxyList:
    proxies: tuple[ListedProxy, ...] = ()
    malformed: tuple[MalformedEntry, ...] = ()
    malformed_count: int = 0


def parse_list(text: str, *, scheme: str = "http", tier: Tier = Tier.DATACENTRE) -> ProxyList:
    """Return the proxies of a list, each once, with its last credentials; `scheme` is for entries without one."""
    proxies: dict[tuple[str, str], ListedProxy] = {}
    malformed: list[MalformedEntry] = []
    count = 0
    for index, (line, entry) in enumerate(_entries(text), 1):
        if index > MAX_PROXIES:
            raise BadInput(f"the list has more than {MAX_PROXIES} entries", field="proxies", hint="split it")
        try:
            listed = _parse_entry(entry, scheme, tier)
        except BadInput as problem:
            count += 1
            if len(malformed) < _MAX_NAMED:
                malformed.append(MalformedEntry(index, problem.message, line))
            continue
        user = "" if listed.proxy.user is None else listed.proxy.user.reveal()
        proxies[listed.proxy.address, user] = listed
    return ProxyList(tuple(proxies.values()), tuple(malformed), count)


def _entries(text: str) -> Iterator[tuple[int | None, Any]]:
    """Yield the entries of a list, with their lines if each has one."""
    stripped = text.lstrip("\ufeff \t\r\n")
    if stripped.startswith(("[", "{")) and not _IPV6.match(stripped):
        yield from ((None, entry) for entry in _json_entries(stripped))
        return
    for number, line in enumerate(text.splitlines(), 1):
        if words := _COMMENT.sub("", line).split():
            yield number, words[0]


def _json_entries(text: str) -> Iterator[Any]:
    try:
        document = json.loads(text)
    except ValueError:
        yield from (_json_line(line) for line in text.splitlines() if line.strip())
        return
    if isinstance(document, dict):
        inner = next((document[key] for key in _LISTS if isinstance(document.get(key), list)), None)
        document = [document] if inner is None else inner
    yield from document


def _json_line(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _parse_entry(entry: Any, scheme: str, tier: Tier) -> ListedProxy:
    if isinstance(entry, str):
        return ListedProxy(_parse_text(entry.strip(), scheme), tier)
    if isinstance(entry, Mapping):
        return _parse_object(entry, scheme, tier)
    raise BadInput("neither a text nor an object", field="proxies")


def _parse_text(text: str, scheme: str) -> OpenProxy:
    colons = _COLON_FORM.fullmatch(text)
    if colons is not None:
        text = f"{quote(colons[3], safe='')}:{quote(colons[4], safe='')}@{colons[1]}:{colons[2]}"
    if (named := _SCHEME.match(text)) is None:
        text = f"{scheme}://{text}"
    else:
        text = f"{_ALIASES.get(named[1].lower(), named[1])}{text[named.end(1) :]}"
    proxy = parse_proxy(text, field="proxies")
    if proxy is None:
        raise BadInput("`direct` is no proxy", field="proxies")
    return proxy


def _parse_object(entry: Mapping[str, Any], scheme: str, tier: Tier) -> ListedProxy:
    whole = _first(entry, "url", "proxy")
    tier = _tier_of(entry, tier)
    if whole is not None:
        return ListedProxy(_parse_text(str(whole), scheme), tier)
    host, port = _first(entry, "host", "ip", "address", "addr", "server"), entry.get("port")
    if host is None:
        raise BadInput("no host", field="proxies")
    where = str(host) if "://" in str(host) or port is None else f"{_bracket(str(host))}:{port}"
    if "://" in where:
        return ListedProxy(_parse_text(where, scheme), tier)
    user, password = _first(entry, "username", "user", "login"), _first(entry, "password", "pass")
    who = "" if user is None else f"{quote(str(user), safe='')}:{quote(str(password or ''), safe='')}@"
    return ListedProxy(_parse_text(f"{_scheme_of(entry, scheme)}://{who}{where}", scheme), tier)


def _bracket(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _scheme_of(entry: Mapping[str, Any], scheme: str) -> str:
    value = _first(entry, "scheme", "protocol", "protocols", "type")
    names = value if isinstance(value, list) else [value]
    for name in names:
        scheme_name = _ALIASES.get(str(name).lower(), str(name).lower())
        if scheme_name in SCHEMES:
            return scheme_name
    return scheme


def _tier_of(entry: Mapping[str, Any], tier: Tier) -> Tier:
    name = str(_first(entry, "tier", "kind") or "").lower()
    return Tier(name) if name in set(POOL_TIERS) else tier


def _first(entry: Mapping[str, Any], *names: str) -> Any:
    return next((entry[name] for name in names if entry.get(name) not in (None, "")), None)
