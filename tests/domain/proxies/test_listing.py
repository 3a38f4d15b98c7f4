import json

import pytest

from corral.domain.errors import BadInput
from corral.domain.net.pool_policy import PoolMode, Sticky, Tier, is_pool_text, parse_pool_policy
from corral.domain.net.proxy import credentials_text
from corral.domain.proxies.imports import identity_of
from corral.domain.proxies.listing import parse_list


def read(text: str, **more: str) -> list[tuple[str, str | None]]:
    return [(each.proxy.address, credentials_text(each.proxy)) for each in parse_list(text, **more).proxies]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text, found",
    [
        ("192.0.2.1:80", [("http://192.0.2.1:80", None)]),
        ("192.0.2.1:80:user:pa:ss", [("http://192.0.2.1:80", "user:pa:ss")]),
        ("user:pass@h.test:90  elite DE", [("http://h.test:90", "user:pass")]),
        ("# a list\n\nsocks5://h.test:1 # good\n", [("socks5://h.test:1", None)]),
        ("h.test:1\nh.test:1\n", [("http://h.test:1", None)]),
        ("[2001:db8::1]:80\nsocks5h://[::1]:1080", [("http://[2001:db8::1]:80", None), ("socks5://[::1]:1080", None)]),
        ("[2001:db8::1]:80:me:p#a@s/s?", [("http://[2001:db8::1]:80", "me:p#a@s/s?")]),
        ("SOCKS5://me:p%40%3a%20%C3%A9@h.test:1", [("socks5://h.test:1", "me:p@: é")]),
        ('["h.test:1", "https://h.test:2"]', [("http://h.test:1", None), ("https://h.test:2", None)]),
        ('{"ip": "192.0.2.1", "port": "8080", "protocols": ["socks5"]}', [("socks5://192.0.2.1:8080", None)]),
        ('{"data": [{"host": "2001:db8::1", "port": 1, "user": "a@b", "pass": "c:/d"}]}', [
            ("http://[2001:db8::1]:1", "a@b:c:/d")
        ]),
        ('{"proxies": [{"proxy": "h.test:5", "score": 3}]}', [("http://h.test:5", None)]),
        ('{"ip": "h.test", "port": 1}\n{"ip": "h.test", "port": 2}\n', [
            ("http://h.test:1", None), ("http://h.test:2", None)
        ]),
    ],
)  # fmt: skip
def test_lists_are_read_as_people_and_providers_write_them(text: str, found: list[tuple[str, str | None]]) -> None:
    assert read(text) == found


def test_entries_without_a_scheme_take_that_of_the_list_and_objects_may_name_a_tier() -> None:
    assert read("h.test:1", scheme="socks5") == [("socks5://h.test:1", None)]
    found = parse_list(json.dumps([{"host": "h", "port": 1, "tier": "residential"}, "h:2"]))
    assert [each.tier for each in found.proxies] == [Tier.RESIDENTIAL, Tier.DATACENTRE]


def test_malformed_entries_are_named_by_line_or_index_and_never_quoted() -> None:
    found = parse_list("# a list\nh.test:1\n\nuser:canary@\nhttp://h.test/canary\n")
    assert [(each.index, each.where) for each in found.malformed] == [(2, "line 4"), (3, "line 5")]
    assert found.malformed_count == 2
    assert parse_list('["h:1", 5]').malformed[0].where == "entry 2"
    assert "canary" not in str([each.reason for each in found.malformed])


def test_two_users_of_one_address_are_two_proxies_and_another_password_is_the_same_one() -> None:
    first, second, third, bare = (
        parse_list(text).proxies[0].proxy for text in ("a:1@h:1", "b:1@h:1", "a:2@h:1", "h:1")
    )
    assert identity_of(first) == identity_of(third)
    assert len({identity_of(each) for each in (first, second, bare)}) == 3


@pytest.mark.parametrize(
    "text, mode, tiers, sticky",
    [
        ("pool", PoolMode.POOL, (Tier.DATACENTRE, Tier.RESIDENTIAL), Sticky.RUN),
        ("pool:residential;sticky=job", PoolMode.POOL, (Tier.RESIDENTIAL,), Sticky.JOB),
        ("tiered", PoolMode.TIERED, (Tier.DIRECT, Tier.DATACENTRE, Tier.RESIDENTIAL), Sticky.RUN),
        ("tiered:residential,direct", PoolMode.TIERED, (Tier.DIRECT, Tier.RESIDENTIAL), Sticky.RUN),
    ],
)
def test_policies_of_the_pool_are_texts(text: str, mode: PoolMode, tiers: tuple[Tier, ...], sticky: Sticky) -> None:
    policy = parse_pool_policy(text)
    assert (policy.mode, policy.tiers, policy.sticky) == (mode, tiers, sticky)
    assert parse_pool_policy(policy.text) == policy


@pytest.mark.parametrize("text", ["pool:direct", "pool:gold", "pool;sticky=ever", "pool;speed=1", "tiered:"])
def test_unknown_tiers_and_options_are_refused(text: str) -> None:
    assert is_pool_text(text)
    if text == "tiered:":
        assert parse_pool_policy(text).mode is PoolMode.TIERED
        return
    with pytest.raises(BadInput):
        parse_pool_policy(text)
