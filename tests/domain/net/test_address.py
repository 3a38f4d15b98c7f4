import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import BadInput
from corral.domain.net.address import AllowEntry, EgressPolicy, check_literal, is_forbidden
from corral.domain.net.url import parse_target

NOTHING = EgressPolicy()


@pytest.mark.parametrize(
    "ip",
    [
        "8.8.8.8",
        "1.1.1.1",
        "93.184.216.34",
        "172.15.0.1",
        "172.32.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "11.0.0.0",
        "9.255.255.255",
        "126.255.255.255",
        "128.0.0.0",
        "223.255.255.255",
        "168.63.129.17",
        "2606:4700::1111",
        "2a00:1450::1",
        "2001:200::1",
        "2003::1",
        "::ffff:8.8.8.8",
        "3ffe::1",
    ],
)
def test_public_addresses_may_be_dialled(ip: str) -> None:
    assert NOTHING.permits(ip, 443)


@pytest.mark.parametrize(
    "ip",
    [
        "0.0.0.0",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "127.0.0.1",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.31.196.1",
        "192.52.193.1",
        "192.88.99.1",
        "192.168.0.1",
        "192.175.48.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "64:ff9b::808:808",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:1ff::1",
        "2001:db8::1",
        "2002::1",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "4000::1",
        "1fff::1",
        "not an ip",
        "",
        "127.0.0.1:80",
    ],
)
def test_all_others_may_not(ip: str) -> None:
    assert not NOTHING.permits(ip, 443)


@given(st.ip_addresses())
def test_nothing_is_more_permissive_than_the_standard_library(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if not is_forbidden(address):
        plain = getattr(address, "ipv4_mapped", None) or address
        assert plain.is_global
        assert not plain.is_multicast


@pytest.mark.parametrize(
    "text, ip, port, covered",
    [
        ("127.0.0.0/8:*", "127.9.9.9", 1, True),
        ("127.0.0.1:8080", "127.0.0.1", 8080, True),
        ("127.0.0.1:8080", "127.0.0.1", 8081, False),
        ("127.0.0.1:8080", "127.0.0.2", 8080, False),
        ("127.0.0.1:8080", "::ffff:127.0.0.1", 8080, True),
        ("[::1]/128:8080", "::1", 8080, True),
        ("[::1]:*", "::1", 9, True),
        ("[fd00::]/8:443", "fd12::1", 443, True),
        ("10.0.0.0/8:443", "::1", 443, False),
    ],
)
def test_an_exception_covers_its_network_and_port(text: str, ip: str, port: int, covered: bool) -> None:
    entry = AllowEntry.parse(text)
    assert EgressPolicy((entry,)).permits(ip, port) is covered
    assert AllowEntry.parse(str(entry)) == entry


@pytest.mark.parametrize(
    "text",
    [
        "",
        "true",
        "*",
        "127.0.0.1",
        "127.0.0.0/8",
        "::1:80",
        "[::1]",
        "localhost:80",
        "10.0.0.1/8:80",
        "10.0.0.0/33:80",
        "10.0.0.0/8:0",
        "10.0.0.0/8:65536",
        "10.0.0.0/8:http",
        "[::ffff:10.0.0.0]/104:80",
    ],
)
def test_a_malformed_exception_is_explained(text: str) -> None:
    with pytest.raises(ValueError, match=r"write|port"):
        AllowEntry.parse(text)


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://[::1]/", "http://localhost/", "http://a.localhost./"])
def test_a_literal_private_host_is_refused_with_the_setting_to_change(url: str) -> None:
    with pytest.raises(BadInput) as caught:
        check_literal(parse_target(url), NOTHING)
    assert (caught.value.code, caught.value.field) == ("policy", "target_url")
    assert "APP_EGRESS_ALLOW" in (caught.value.hint or "")


def test_a_literal_host_may_be_allowed_or_trusted() -> None:
    target = parse_target("http://127.0.0.1:8080/")
    check_literal(target, EgressPolicy((AllowEntry.parse("127.0.0.1:8080"),)))
    check_literal(target, NOTHING, trusted_hosts=frozenset({"127.0.0.1"}))
    check_literal(target, NOTHING, trusted_hosts=frozenset({"127.0.0.1:8080"}))
    check_literal(parse_target("https://example.com/"), NOTHING)
