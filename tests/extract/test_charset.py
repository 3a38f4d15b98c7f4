import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.extract.charset import clean_text, decode

HTML = "text/html"


@pytest.mark.parametrize(
    "body, content_type, text, encoding",
    [
        ("café".encode(), None, "café", "utf-8"),
        ("café".encode("cp1252"), None, "café", "cp1252"),
        ("café".encode("cp1252"), f"{HTML}; charset=ISO-8859-1", "café", "cp1252"),
        ("“x”".encode("cp1252"), f"{HTML}; charset=latin1", "“x”", "cp1252"),
        ("日本".encode("shift_jis"), f'{HTML}; charset="Shift_JIS"', "日本", "cp932"),
        ("日本".encode("gbk"), f"{HTML};charset=gb2312", "日本", "gb18030"),
        ("привет".encode("cp1251"), f"{HTML}; charset=windows-1251", "привет", "cp1251"),
        (b"\xef\xbb\xbf" + "é".encode(), f"{HTML}; charset=latin1", "é", "utf-8"),
        ("\ufeffé".encode("utf-16-le"), f"{HTML}; charset=utf-8", "é", "utf-16-le"),
        ("\ufeffé".encode("utf-16-be"), None, "é", "utf-16-be"),
        ("<p>hello</p>".encode("utf-16-le"), None, "<p>hello</p>", "utf-16-le"),
        ("<p>hello</p>".encode("utf-16-be"), None, "<p>hello</p>", "utf-16-be"),
        (b"<meta charset=koi8-r>\xc1", None, "<meta charset=koi8-r>а", "koi8-r"),
        (b"<meta charset=utf-16>\xc3\xa9", None, "<meta charset=utf-16>é", "utf-8"),
        (b"<meta charset=latin1>\xc3\xa9", f"{HTML}; charset=utf-8", "<meta charset=latin1>é", "utf-8"),
        (b"+ADw-script+AD4-", f"{HTML}; charset=utf-7", "+ADw-script+AD4-", "utf-8"),
        (b"abc", f"{HTML}; charset=no-such", "abc", "utf-8"),
        (b"abc", f"{HTML}; charset=zlib", "abc", "utf-8"),
        (b"a\\u0041", f"{HTML}; charset=unicode_escape", "a\\u0041", "utf-8"),
        (b"a\0b", None, "ab", "utf-8"),
        (b"", None, "", "utf-8"),
    ],
)
def test_the_encoding_is_found(body: bytes, content_type: str | None, text: str, encoding: str) -> None:
    decoded = decode(body, content_type)
    assert (decoded.text, decoded.encoding) == (text, encoding)


def test_what_cannot_be_read_is_counted() -> None:
    decoded = decode(b"a\xffb\xfe", f"{HTML}; charset=utf-8")
    assert decoded.text == "a\ufffdb\ufffd"
    assert decoded.replacements == 2


@given(st.binary(max_size=300), st.one_of(st.none(), st.text(max_size=30).map("text/html; charset={}".format)))
def test_decoding_never_raises_and_the_text_can_be_stored(body: bytes, content_type: str | None) -> None:
    text = decode(body, content_type).text
    assert "\0" not in text
    text.encode("utf-8")


@given(st.text())
def test_clean_text_can_be_stored(text: str) -> None:
    clean_text(text + "\ud800").encode("utf-8")
