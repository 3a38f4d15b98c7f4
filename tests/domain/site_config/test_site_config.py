import pytest

from corral.domain.errors import BadInput
from corral.domain.hosts.limiter import SitePace
from corral.domain.net.url import parse_target
from corral.domain.site_config.book import SiteBook, SiteFiles, SiteLayer
from corral.domain.site_config.order import check_dependencies, find_cycle
from corral.domain.site_config.site_key import candidate_keys, parse_exact_key, parse_site_key
from corral.domain.site_config.values import find_problems, flatten


@pytest.mark.parametrize(
    "text, key",
    [
        ("www.Example.com", "example.com"),
        ("https://shop.example.co.uk/a?b", "example.co.uk"),
        ("example.com:8080", "example.com:8080"),
        ("http://127.0.0.1:9000/x", "127.0.0.1:9000"),
        ("http://[::1]:9000/", "[::1]:9000"),
        ("someone.github.io", "someone.github.io"),
        ("localhost", "localhost"),
        ("www.co.uk", "www.co.uk"),
    ],
)
def test_a_site_is_its_registrable_domain(text: str, key: str) -> None:
    assert parse_site_key(text) == key


def test_a_configuration_is_for_a_whole_site() -> None:
    assert parse_exact_key("www.example.com") == "example.com"
    with pytest.raises(BadInput, match=r"part of the site example\.com") as refused:
        parse_exact_key("shop.example.com")
    assert refused.value.hint == "write example.com"
    with pytest.raises(BadInput, match="is not a site"):
        parse_exact_key("not a host")


def test_a_port_of_a_host_may_have_a_configuration_of_its_own() -> None:
    assert candidate_keys(parse_target("http://a.example.com:81/")) == ("example.com:81", "example.com")
    assert candidate_keys(parse_target("https://example.com/")) == ("example.com",)
    files = SiteFiles(sites={"example.com": SiteLayer.of({"concurrency": 3, "delay_s": 1.0}, "f:1")})
    book = SiteBook(files, {"example.com:81": {"concurrency": 1}})
    assert book.pace_of("example.com:81") == SitePace(1, 1.0)
    assert book.pace_of("shop.example.com") == SitePace(3, 1.0)
    assert book.pace_of("other.example") is None


def test_later_sources_win_value_by_value_and_are_named() -> None:
    files = SiteFiles(
        SiteLayer.of({"concurrency": 5, "delay_s": 0.5, "budget.requests": 9}, "config/sites/defaults.yaml:1"),
        {"example.com": SiteLayer.of({"delay_s": 2.0, "budget.cost": 0.5}, "config/sites/example.com.yaml:2")},
    )
    book = SiteBook(files, {"example.com": {"concurrency": 1}})
    config = book.find("https://www.example.com/a", SiteLayer.of({"concurrency": 10, "strategy": "auto"}, "settings"))
    assert {name: tuple(each) for name, each in config.values.items()} == {
        "strategy": ("auto", "settings"),
        "concurrency": (1, "api"),
        "delay_s": (2.0, "config/sites/example.com.yaml:2"),
        "budget.requests": (9, "config/sites/defaults.yaml:1"),
        "budget.cost": (0.5, "config/sites/example.com.yaml:2"),
    }
    assert config.pace == SitePace(1, 2.0)
    assert config.budget.document() == {"requests": 9, "cost": 0.5}


def test_every_wrong_value_is_found() -> None:
    document = {
        "concurrency": 0,
        "delay_s": True,
        "memory_mib": 3.5,
        "strategy": "telepathy",
        "browser_pages": -1,
        "proxy_policy": "gopher://x:1",
        "budget": {"requests": 1.5, "money": 3, "cost": -1},
        "depends_on": ["a.example", "no host"],
        "urls": "http://a.example",
        "conccurrency": 3,
    }
    assert [each.path for each in find_problems(document)] == [
        *("concurrency", "delay_s", "memory_mib", "strategy", "browser_pages", "proxy_policy"),
        *("budget.requests", "budget.money", "budget.cost", "depends_on.1", "urls", "conccurrency"),
    ]
    assert [each.path for each in find_problems([])] == [""]
    assert [each.path for each in find_problems({"budget": 3})] == ["budget"]


def test_a_checked_document_is_flat() -> None:
    document = {"depends_on": ["www.a.example", "a.example"], "urls": ["http://b.example/"], "budget": {"bytes": 10}}
    assert list(find_problems(document)) == []
    assert flatten(document) == {
        "depends_on": ("a.example",),
        "urls": ("http://b.example/",),
        "budget.bytes": 10,
    }


def test_sites_that_wait_for_each_other_are_refused() -> None:
    assert find_cycle({"a": ["b", "c"], "b": ["c"], "c": [], "d": ["a"]}) == []
    assert find_cycle({"d": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]}) == ["a", "b", "c", "a"]
    assert find_cycle({"a": ["a"]}) == ["a", "a"]
    check_dependencies({"a": ["b"], "b": []})
    with pytest.raises(BadInput, match="a -> b -> a"):
        check_dependencies({"a": ["b"], "b": ["a"]})
    with pytest.raises(BadInput, match="a depends on x; b depends on y"):
        check_dependencies({"a": ["x"], "b": ["y"]})
