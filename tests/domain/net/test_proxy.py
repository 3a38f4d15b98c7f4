import pytest

from corral.domain.errors import BadInput
from corral.domain.net.proxy import ProxyPolicy, credentials_text, parse_proxy, with_credentials


@pytest.mark.parametrize(
    "text, address, known_by",
    [
        ("http://proxy.test:8080", "http://proxy.test:8080", None),
        ("HTTPS://Proxy.Test:443/", "https://proxy.test:443", None),
        ("socks5://[2001:db8::1]:1080", "socks5://[2001:db8::1]:1080", None),
        ("http://user:pass@proxy.test:8080", "http://proxy.test:8080", "user:pass"),
        ("http://us%40er:p%3Aa%2Fss@proxy.test:8080", "http://proxy.test:8080", "us@er:p:a/ss"),
        ("http://user:@proxy.test:1", "http://proxy.test:1", "user:"),
    ],
)
def test_an_address_is_read_with_what_the_proxy_knows_us_by(text: str, address: str, known_by: str | None) -> None:
    proxy = parse_proxy(text)
    assert proxy is not None
    assert (proxy.address, credentials_text(proxy)) == (address, known_by)
    assert with_credentials(ProxyPolicy(proxy.address), known_by) == proxy
    assert "user:" not in f"{proxy!r}{proxy.redacted}"


def test_direct_is_no_proxy() -> None:
    assert parse_proxy("direct") is None


@pytest.mark.parametrize(
    "text",
    [
        "residential",
        "auto",
        "",
        "proxy.test:8080",
        "http://proxy.test",
        "http://proxy.test:8080/path",
        "http://proxy.test:0",
        "http://proxy.test:99999",
        "ftp://proxy.test:21",
        "http://canary@proxy.test:8080",
        "http://:canary@proxy.test:8080",
        "http://user:canary%0d%0a@proxy.test:8080",
        "http://us%3Aer:canary@proxy.test:8080",
        f"http://user:{'canary' * 50}@proxy.test:8080",
        "http://user:canary@a@proxy.test:8080",
        "http://user:canary@pro xy.test:8080",
    ],
)
def test_what_is_no_proxy_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_proxy(text)
    assert refused.value.field == "proxy_policy"
    assert "canary" not in f"{refused.value.message} {refused.value.hint}"


def test_what_is_shown_hides_who_we_are() -> None:
    assert ProxyPolicy("http://p.test:1", "kid.key.box").redacted == "http://***@p.test:1"
    assert ProxyPolicy("http://p.test:1").redacted == "http://p.test:1"
    assert ProxyPolicy("direct").redacted == "direct"
    assert ProxyPolicy("http://p.test:1", "kid.key.box").kid == "kid"
