"""Every spelling of a forbidden address, against every fetch path that takes a URL. No canary may hear anything."""

import ipaddress
from itertools import product

import pytest

from corral.domain.address import EgressPolicy, check_literal
from corral.domain.errors import BadInput
from corral.domain.outcome import Failed, Task
from corral.domain.url import parse_target
from corral.fetch.egress import Egress
from corral.fetch.http import HttpExecutor
from corral.fetch.probe import probe
from corral.fetch.robots import Robots
from tests.fetch.conftest import QUICK
from tests.fetch.hostile import Hostile

FORBIDDEN_V4 = [
    "127.0.0.1",
    "127.1.2.3",
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.9.9.9",
    "100.64.0.1",
    "100.127.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
]
FORBIDDEN_V6 = [
    "[::]",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:169.254.169.254]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b:1::1]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[2001::1]",
    "[2001:db8::1]",
    "[2001:0:7f00:1::]",
    "[3fff::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[100::1]",
    "[5f00::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:ffff:7f00:0001]",
    "[fe80::1%25eth0]",
    "[fe80::1%eth0]",
    "[::1%lo]",
]
CIRCLED = str.maketrans("0123456789", "⓪①②③④⑤⑥⑦⑧⑨")
FULL_WIDTH = str.maketrans("0123456789.", "０１２３４５６７８９．")
MATHEMATICAL = str.maketrans("0123456789", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗")
NAMES = ["localhost", "LOCALHOST", "localhost.", "a.localhost", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "lo\xadcalhost", "ｌｏｃａｌｈｏｓｔ"]


def spellings(ip: str) -> list[str]:
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
        ip.translate(CIRCLED),
        ip.translate(FULL_WIDTH),
        ip.translate(MATHEMATICAL),
        ip.replace(".", "。"),
        ip.replace(".", "｡"),
        f"{a}\u00ad.{b}.{c}.{d}",
        f"[::ffff:{ip}]",
        f"[::{ip}]",
        f"[64:ff9b::{ip}]",
    ]


def is_a_name(url: str) -> bool:
    return any(f"//{name}:" in url for name in NAMES)


def corpus(port: int) -> list[str]:
    hosts = [spelling for ip in FORBIDDEN_V4 for spelling in spellings(ip)] + FORBIDDEN_V6 + NAMES
    urls = [f"http://{host}:{port}/" for host in hosts]
    local = f"127.0.0.1:{port}"
    urls += [f"{scheme}{local}/" for scheme in ("HTTP://", "https://", "hTTp://")]
    urls += [
        f"http://{before}{local}{after}"
        for before, after in product(("", "a@", "a:b@", "example.com@", "\t", "//", "\\", " "), ("\\@b/", "#@b/"))
    ]
    urls += [f"http://example.com\\@{local}/", f"http:\\\\{local}/", f"http:/{local}/", f"http:{local}"]
    urls += [f"http://{local}%00.example.com/", f"http://127.0.0.1%2f@b:{port}/", "http://127.0.0.1\n.com/"]
    urls += [f"{scheme}:{local}" for scheme in ("file", "gopher", "dict", "ftp", "javascript", "data", "ws")]
    urls += ["file:///etc/passwd", "view-source:http://127.0.0.1/", "blob:http://127.0.0.1/", "//127.0.0.1/"]
    return urls


def test_the_corpus_is_large() -> None:
    assert len(set(corpus(80))) > 500


def test_a_job_with_such_a_target_is_refused_at_creation() -> None:
    problems = {url: refusal(url) for url in corpus(80)}
    assert [url for url, problem in problems.items() if problem is None] == []
    for problem in problems.values():
        assert problem is not None
        assert problem.code in ("bad_url", "policy")
        assert problem.field == "target_url"
        assert problem.hint


def refusal(url: str) -> BadInput | None:
    try:
        check_literal(parse_target(url), EgressPolicy())
    except BadInput as problem:
        return problem
    return None


async def test_no_path_connects_to_a_forbidden_address(hostile: Hostile) -> None:
    """The policy allows nothing, the canary listens on loopback, and a name that leads there is no help."""
    egress = Egress(EgressPolicy(), QUICK, "t")
    robots = Robots(egress, "t")
    executor = HttpExecutor(egress, robots)
    for url in corpus(hostile.port):
        answer = await egress.fetch(url, timeout_s=2)
        assert isinstance(answer, Failed), url
        assert answer.code == "policy", (url, answer)
        assert "127.0.0.1" not in answer.message or not is_a_name(url), "what a name resolves to is not told"
        task = Task("r", 1, "page", "http", 1, {"url": url, "fields": [], "respect_robots": True}, 2)
        outcome = await executor.execute(task)
        assert isinstance(outcome, Failed)
        assert outcome.code == "policy"
        looked = await probe(egress, url, ())
        assert looked.status is None
        assert looked.failure is not None
    await egress.close()
    assert hostile.connections == 0


@pytest.mark.parametrize("status", ["301", "302", "303", "307", "308"])
async def test_robots_and_pages_do_not_follow_inside(egress: Egress, hostile: Hostile, status: str) -> None:
    answer = await egress.fetch(hostile.url(f"/metadata-{status}"), timeout_s=2)
    assert isinstance(answer, Failed)
    assert (answer.code, answer.detail) == ("policy", "egress")
