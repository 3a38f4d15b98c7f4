import ipaddress

import pytest

from corral.api.guard.client_address import find_client

PROXIES = [ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd00::/8")]


@pytest.mark.parametrize(
    "peer, forwarded, client",
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),  # no proxy of ours wrote it
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),  # what is further left may be forged
        ("10.0.0.1", "198.51.100.7, 10.0.0.2", "198.51.100.7"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "unknown", "10.0.0.1"),
        ("fd00::1", "2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "", "192.0.2.1"),
        ("local", "198.51.100.7", "local"),
    ],
)
def test_the_client_is_who_the_last_trusted_proxy_heard(peer: str, forwarded: str, client: str) -> None:
    assert find_client(peer, forwarded, PROXIES) == client
