"""Ways to write an address that must not be dialled, made by rule: every forbidden network in every notation."""

import ipaddress
from dataclasses import dataclass
from functools import cache
from itertools import product

from corral.domain.net import address

CIRCLED = str.maketrans("0123456789", "⓪①②③④⑤⑥⑦⑧⑨")
FULL_WIDTH = str.maketrans("0123456789.", "０１２３４５６７８９．")
MATHEMATICAL = str.maketrans("0123456789", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗")
NAMES = [
    "localhost",
    "LOCALHOST",
    "LocalHost",
    "localhost.",
    "a.localhost",
    "a.b.c.localhost.",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "lo\xadcalhost",
    "ｌｏｃａｌｈｏｓｔ",
    "𝐥𝐨𝐜𝐚𝐥𝐡𝐨𝐬𝐭",
    "localhost。",
    "a。localhost",
]
# Where clouds and containers keep what nobody else should see; all of them inside the table.
FAMOUS_V4 = ("127.0.0.1", "169.254.169.254", "169.254.170.2", "168.63.129.16", "192.0.0.192", "100.100.100.200")
FAMOUS_V6 = ("::1", "::", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "100::1", "5f00::1", "64:ff9b:1::1")


# All of them `http://` to a browser.
_STARTS = ("hTTp:/", "http:\\\\", "http:", "http:////", "\thttp://", " HTTP://", "ht\ntp://", "http:/\\")
# They would run in the page itself, and end what it is about.
_HARMLESS = ("javascript:", "data:", "about:")


@dataclass(frozen=True)
class Answered:
    """A name, and what it resolves to."""

    name: str
    ips: tuple[str, ...]


@cache
def forbidden_v4() -> tuple[str, ...]:
    """The first, the last and one from the middle of each network of the table."""
    found = dict.fromkeys(FAMOUS_V4)
    for network in address._FORBIDDEN_V4:
        places = (0, network.num_addresses - 1, network.num_addresses // 2, network.num_addresses // 3)
        found.update(dict.fromkeys(str(network[place]) for place in places))
    return tuple(found)


@cache
def forbidden_v6() -> tuple[str, ...]:
    found = dict.fromkeys(FAMOUS_V6)
    for network in address._FORBIDDEN_V6:
        found.update(dict.fromkeys(str(network[place]) for place in (0, network.num_addresses - 1, 7)))
    return tuple(found)


def spellings_v4(ip: str) -> list[str]:
    value = int(ipaddress.IPv4Address(ip))
    a, b, c, d = ip.split(".")
    parts = [int(part) for part in (a, b, c, d)]
    return [
        ip,
        ip + ".",
        str(value),
        hex(value),
        hex(value).upper().replace("X", "x"),
        f"0{value:o}",
        ".".join(f"0{part:o}" for part in parts),
        ".".join(f"000{part:o}" for part in parts),
        ".".join(hex(part) for part in parts),
        f"{a}.{b}.{parts[2] * 256 + parts[3]}",
        f"{a}.{value & 0xFFFFFF}",
        f"{hex(parts[0])}.{value & 0xFFFFFF}",
        f"{hex(parts[0])}.0{parts[1]:o}.{parts[2]}.{hex(parts[3])}",
        ip.translate(CIRCLED),
        ip.translate(FULL_WIDTH),
        ip.translate(MATHEMATICAL),
        ip.replace(".", "。"),
        ip.replace(".", "｡"),
        f"{a}\u00ad.{b}.{c}.{d}",
    ]


def wrap_v4(ip: str) -> list[str]:
    """Inside an IPv6 address: mapped, compatible, NAT64 in both prefixes, 6to4, Teredo."""
    value = int(ipaddress.IPv4Address(ip))
    high, low = value >> 16, value & 0xFFFF
    client = value ^ 0xFFFFFFFF
    return [
        f"[::ffff:{ip}]",
        f"[::FFFF:{high:X}:{low:X}]",
        f"[0000:0000:0000:0000:0000:ffff:{high:04x}:{low:04x}]",
        f"[::{ip}]",
        f"[64:ff9b::{ip}]",
        f"[64:ff9b:1::{high:x}:{low:x}]",
        f"[2002:{high:x}:{low:x}::]",
        f"[2002:{high:x}:{low:x}::1]",
        f"[2001:0:{high:x}:{low:x}::{client >> 16:x}:{client & 0xFFFF:x}]",
    ]


def spellings_v6(ip: str) -> list[str]:
    found = ipaddress.IPv6Address(ip)
    return [f"[{ip}]", f"[{found.exploded}]", f"[{found.exploded.upper()}]", f"[{ip}%25eth0]", f"[{ip}%lo]"]


def hosts() -> list[str]:
    found = [spelling for ip in forbidden_v4() for spelling in (*spellings_v4(ip), *wrap_v4(ip))]
    found += [spelling for ip in forbidden_v6() for spelling in spellings_v6(ip)]
    return [*found, *NAMES]


def tricks(port: int) -> list[str]:
    """URLs that two parsers read differently, all of them about this machine."""
    local = f"127.0.0.1:{port}"
    urls = [f"{scheme}{local}/" for scheme in ("HTTP://", "https://", "hTTp://", "http:/", "http:", "http:///", "//")]
    befores = ("", "a@", "a:b@", "example.com@", "example.com:80@", "\t", "//", "\\", " ", "%20", "a%40b@", "@", ":@")
    afters = ("\\@b/", "#@b/", "?@b/", "/%2e%2e/", "%00.example.com/", "\n.example.com/", "%23/", "/..;/")
    urls += [f"http://{before}{local}{after}" for before, after in product(befores, afters)]
    urls += [f"http://example.com\\@{local}/", f"http:\\\\{local}/", f"http://127.0.0.1%2f@b:{port}/"]
    urls += [f"http://127.0.0.1{gap}:{port}/" for gap in ("\t", "\r\n", "\u200b", "\u3000", "%09", "\x00")]
    urls += [f"http://[::1]{odd}:{port}/" for odd in ("", "a", ".", "%")]
    schemes = ("file", "gopher", "dict", "ftp", "javascript", "data", "ws", "wss", "jar", "ldap", "tftp", "netdoc")
    urls += [f"{scheme}:{mark}{local}/" for scheme, mark in product(schemes, ("", "//"))]
    return [*urls, "file:///etc/passwd", "view-source:http://127.0.0.1/", "blob:http://127.0.0.1/", "about:blank"]


@cache
def corpus(port: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys([f"http://{host}:{port}/" for host in hosts()] + tricks(port)))


@cache
def for_pages(port: int, *, few: bool = False) -> tuple[str, ...]:
    """For a browser, which writes an address in one way before it asks: one address of each network, in all spellings.

    `few` is of the famous ones alone, in more spellings: for what takes a process at every try.
    """
    one_each = () if few else (str(network[network.num_addresses // 2]) for network in address._FORBIDDEN_V4)
    spelt = [spelling for ip in dict.fromkeys((*FAMOUS_V4, *one_each)) for spelling in spellings_v4(ip)]
    starts = _STARTS if few else _STARTS[:2]
    urls = [f"{start}{host}:{port}/" for start in starts for host in spelt]
    spelt += wrap_v4("127.0.0.1")
    spelt += [spelling for ip in FAMOUS_V6 for spelling in spellings_v6(ip)]
    urls += [f"http://{host}:{port}/" for host in (*spelt, *NAMES)] + tricks(port)
    harmless = _harmless(port)
    return tuple(url for url in dict.fromkeys(urls) if url not in harmless)


def deal_out(port: int, place: int, places: int) -> tuple[str, ...]:
    """The rest of the corpus, each in one place."""
    known = {*for_pages(port), *_harmless(port)}
    left = [url for url in corpus(port) if url not in known]
    return tuple(left[place::places])


def _harmless(port: int) -> list[str]:
    return [url for url in tricks(port) if url.lower().startswith(_HARMLESS)]


@cache
def names() -> tuple[Answered, ...]:
    """Names that lead inside: with one answer, with a good one before or after it."""
    inside = (*forbidden_v4(), *forbidden_v6(), *(host.strip("[]") for host in wrap_v4("127.0.0.1")))
    found = []
    for number, ip in enumerate(inside):
        for kind, ips in (("one", (ip,)), ("first", (ip, "93.184.216.34")), ("last", ("93.184.216.34", ip))):
            found.append(Answered(f"{kind}-{number}.example", ips))
    return tuple(found)


def ordinary() -> list[str]:
    """Two hundred that anybody may fetch."""
    plain = ["example.com", "www.example.org", "a-b.example.net", "x_y.example.com", "EXAMPLE.COM", "example.com."]
    plain += ["münchen.example", "例え.example", "xn--mnchen-3ya.example", "1.example", "127.0.0.1.example.com"]
    plain += ["localhost.example.com", "10.0.0.1.nip.example", "a" * 63 + ".example", "8.8.8.8", "93.184.216.34"]
    plain += ["[2606:2800:220:1:248:1893:25c8:1946]", "[2a00:1450:4001::1]", "1.1.1.1", "notlocalhost"]
    tails = [
        "/",
        "",
        "/a/b.html",
        "/a?b=c&d=e",
        "/a%20b?q=caf%C3%A9#top",
        "/?url=http://127.0.0.1/",
        "/@user",
        "/a;b=c",
    ]
    urls = [f"https://{host}{tail}" for host, tail in product(plain, tails)]
    return urls + [f"http://{host}:8080/page" for host in plain] + [f"http://{host}/page" for host in plain]
