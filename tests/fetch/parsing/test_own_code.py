"""Own code in the parser process: whatever it does, it costs its page and nothing else."""

import pytest

from corral.domain.fields.own_code import make_parser
from corral.domain.fields.spec import FieldSpec
from corral.domain.runs.outcome import Failed
from corral.extract.page_reader import ReadAnswer
from corral.fetch.parsing.messages import ReaderLimits
from tests.fetch.parser_builders import ORDINARY, a_request, open_pool

_LIMITS = ReaderLimits(cpu_s=0.3, code_wall_s=4.0, answer_bytes=2_000_000)
_ENDS: dict[str, tuple[str, str]] = {
    "endless loop": ("def parse(page):\n    while True: pass", "shop.py: parse "),
    "sleep": ("import time\ndef parse(page): time.sleep(600)", "did not return within 4 s"),
    "exit": ("import os\ndef parse(page): os._exit(3)", "ended its process (exited with 3)"),
    "kill": ("import os\ndef parse(page): os.kill(os.getpid(), 9)", "ended its process (killed by SIGKILL)"),
    "memory": ("def parse(page): return {'a': 'x' * 10**9}", "shop.py: parse takes too much memory"),
    "size": ("def parse(page): return [{'a': 'x' * 900_000}] * 9", "shop.py: parse returned more than 2000000 bytes"),
}
_ERRORS: dict[str, tuple[str, str]] = {
    "raises": (
        "def parse(page):\n    return price(page)\n\ndef price(page):\n    return {'a': page.first('.none').text}",
        "shop.py, line 5, in price: AttributeError: 'NoneType' object has no attribute 'text'",
    ),
    "module": ("import no_such_module_of_mine\ndef parse(page): pass", "shop.py, line 1, in <module>: ModuleNotFound"),
    "generator": (
        "def parse(page):\n    yield {'a': 1}\n    raise ValueError('two')",
        "line 3, in parse: ValueError: two",
    ),
    "sys.exit": ("import sys\ndef parse(page): sys.exit('over')", "shop.py, line 2, in parse: SystemExit: over"),
    "recursion": ("def parse(page): return parse(page)", "RecursionError"),
    "selector": ("def parse(page): page.css('p[')", "the CSS selector 'p[' cannot be read"),
    "too many": ("def parse(page):\n    while True: yield {'a': 1}", "more than 10000 records for one page"),
    "date": ("import datetime\ndef parse(page): return {'a': {'b': datetime.date.min}}", "record 1.a.b is a date"),
    "nan": ("def parse(page): return [{}, {'a': [float('nan')]}]", "record 1.a[0] is nan"),
    "large number": ("def parse(page): return {'a': 10**40}", "which no JSON number holds"),
    "name": ("def parse(page): return {1: 2}", "a name in record 1 is 1"),
    "cycle": ("def parse(page):\n    a = {}\n    a['a'] = a\n    return a", "nested more than 20 levels deep"),
    "surrogate": ("def parse(page): return {'a': chr(0xd800)}", "that UTF-8 cannot encode"),
    "text": ("def parse(page): return 'a'", "parse returned a str; return a dict"),
    "link": ("def parse(page): return page.follow(None)", "follow takes addresses or elements"),
}


async def test_code_that_ends_its_reader_fails_its_page_and_no_other() -> None:
    async with open_pool(_LIMITS) as pool:
        for name, (code, said) in _ENDS.items():
            read = await pool.read(a_request(ORDINARY, make_parser(code, "folder/shop.py")))
            assert isinstance(read, Failed), (name, read)
            assert (read.code, read.detail) == ("extraction", "parser"), (name, read)
            assert said in read.message, (name, read.message)
            other = await pool.read(a_request(ORDINARY))
            assert isinstance(other, ReadAnswer)
            assert other.record["title"] == "A page"


async def test_an_error_names_file_and_line_and_shows_only_the_frames_of_the_code() -> None:
    async with open_pool() as pool:
        for name, (code, said) in _ERRORS.items():
            read = await pool.read(a_request(ORDINARY, make_parser(code, "folder/shop.py")))
            assert isinstance(read, ReadAnswer), (name, read)
            failure = read.failure
            assert failure is not None, name
            assert (failure.code, failure.detail) == ("extraction", "parser"), (name, failure)
            assert said in failure.message, (name, failure.message)
            assert "site-packages" not in (failure.traceback or "") + failure.message
            assert "corral/" not in (failure.traceback or "")
            assert (read.missing, read.rows) == (("parse()",), ())


async def test_what_code_changes_in_its_process_does_not_reach_other_code() -> None:
    vandal = (
        "import json\njson.loads = None\nseen = []\ndef parse(page):\n    seen.append(1)\n    return {'n': len(seen)}"
    )
    plain = "import json\ndef parse(page): return {'a': json.loads('[1]')}"
    async with open_pool() as pool:
        for _ in range(2):  # a file is run anew for each page
            read = await pool.read(a_request(ORDINARY, make_parser(vandal)))
            assert isinstance(read, ReadAnswer)
            assert read.rows == ({"n": 1},)
        read = await pool.read(a_request(ORDINARY, make_parser(plain)))
        assert isinstance(read, ReadAnswer)
        assert read.rows == ({"a": [1]},), read.failure


@pytest.mark.parametrize(
    "returned, rows, links",
    [
        ("{'a': (1, 2.5, True, None, 'x')}", ({"a": [1, 2.5, True, None, "x"]},), None),
        ("[{'a': 1}, None, {}, {'a': 2}]", ({"a": 1}, {"a": 2}), None),
        ("({'n': n} for n in range(2))", ({"n": 0}, {"n": 1}), None),
        ("page.follow('/a', ['b'])", (), ("http://hostile.example/a", "http://hostile.example/b")),
        ("[{'a': 1}, page.follow('//x.example/c')]", ({"a": 1},), ("http://x.example/c",)),
        ("page.follow()", (), ()),
        ("None", (), None),
    ],
)
async def test_what_parse_may_return(returned: str, rows: object, links: object) -> None:
    async with open_pool() as pool:
        read = await pool.read(a_request(ORDINARY, make_parser(f"def parse(page): return {returned}")))
        assert isinstance(read, ReadAnswer)
        assert (read.rows, read.links, read.failure) == (rows, links, None)


async def test_the_page_that_parse_takes() -> None:
    body = (
        b"<html><title>T</title><base href=/shop/><p class=price data-n=7>9.50 <b>EUR</b></p>"
        b"<a href=x>1</a><a href=y>2</a><script type=application/ld+json>"
        b'{"@type":"Product","name":"Lamp","sku":"S1"}</script>'
    )
    code = """
def parse(page):
    price = page.first("p.price")
    return {
        "url": page.url, "status": page.status, "type": page.headers["content-type"], "size": len(page.body),
        "text": page.text[:6], "price": price.text, "n": price["data-n"], "none": price.get("id", "-"),
        "bold": price.first("b").text, "inner": [each.text for each in price.xpath("./b")],
        "links": [each["href"] for each in page.css("a")], "hrefs": page.xpath("//a/@href"),
        "count": page.xpath("count(//a)"), "joined": page.urljoin("z"), "sku": page.find("sku"),
        "nothing": page.first("h6"), "field": page.fields["name"],
    }
"""
    async with open_pool() as pool:
        read = await pool.read(a_request(body, FieldSpec("name"), make_parser(code)))
        assert isinstance(read, ReadAnswer)
        assert read.failure is None, read.failure
        record = dict(read.record)
        assert [record.pop(name) for name in ("name", "field", "sku", "nothing")] == ["Lamp", "Lamp", "S1", None]
        assert [record.pop(name) for name in ("url", "status", "type")] == [
            "http://hostile.example/page",
            200,
            "text/html",
        ]
        assert [record.pop(name) for name in ("text", "size", "joined")] == [
            "<html>",
            len(body),
            "http://hostile.example/shop/z",
        ]
        addresses = ["http://hostile.example/shop/x", "http://hostile.example/shop/y"]
        assert record == {
            "price": "9.50 EUR",
            "n": "7",
            "none": "-",
            "bold": "EUR",
            "inner": ["EUR"],
            "links": addresses,
            "hrefs": addresses,
            "count": [2],
        }


async def test_fields_that_a_record_names_have_their_types_and_rules() -> None:
    code = "def parse(page): return [{'price': '1,250.50', 'x': 1}, {'price': '12'}, {'price': 'none'}]"
    price = FieldSpec.of({"name": "price", "type": "number", "rules": {"max": 1000}})
    title = FieldSpec("title")
    async with open_pool() as pool:
        read = await pool.read(a_request(ORDINARY, price, title, make_parser(code)))
        assert isinstance(read, ReadAnswer)
        assert read.rows == (
            {"price": 1250.5, "title": "A page", "x": 1},
            {"price": 12, "title": "A page"},
            {"price": None, "title": "A page"},
        )
        assert read.row_details[0]["price"] == {
            "source": "parse()",
            "confidence": read.row_details[0]["price"]["confidence"],
            "raw": "1,250.50",
            "problems": read.row_details[0]["price"]["problems"],
        }
        assert read.problems["price"].startswith("rule:")
        assert read.missing == ()
