import pytest

from corral.domain.net.canonical import link_of, url_key
from corral.domain.net.session_ids import is_session_id
from corral.domain.net.url import parse_target


@pytest.mark.parametrize(
    "name, value, is_one",
    [
        ("sid", "7", False),
        ("sid", "20260131", False),
        ("sid", "chapter", False),
        ("sid", "chapter12", False),
        ("sid", "python3tutorial2", False),
        ("sid", "getting-started-with-python3", False),
        ("sid", "8f3a9c", False),
        ("sid", "9f86d081884c7d65", True),
        ("sid", "123e4567-e89b-12d3-a456-426614174000", True),
        ("phpsessid", "rqvdqh1gkr5vj0c1v4v1i4t2p1", True),
        ("jsessionid", "0A1B2C3D4E5F60718293A4B5C6D7E8F9", True),
        ("jsessionid", "node01x8y7z6w5v4u3t2s1r0.node0", True),
        ("aspsessionidqqrstuv", "KJHGFDSAQWERTYUIaBcDeFgHiJk", True),
        ("cfid", "7", False),
        ("cftoken", "48392017", True),
        ("id", "9f86d081884c7d65", False),
    ],
)
def test_only_what_looks_like_a_session_id_is_one(name: str, value: str, is_one: bool) -> None:
    assert is_session_id(name, value) is is_one


def test_a_parameter_that_is_kept_always_counts() -> None:
    target = parse_target("http://a.test/p;sid=9f86d081884c7d65?sid=9f86d081884c7d65&utm_source=x")
    assert url_key(target) == "//a.test/p"
    assert link_of(target).has_session
    kept = frozenset({"sid", "utm_source"})
    assert url_key(target, kept) == "//a.test/p;sid=9f86d081884c7d65?sid=9f86d081884c7d65&utm_source=x"
    assert not link_of(target, kept).has_session
