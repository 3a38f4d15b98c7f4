import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.extract.charset import CharsetSource, clean_text, decode

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


@pytest.mark.parametrize(
    "label, codec",
    [
        ("utf8", "utf-8"),
        ("latin1", "cp1252"),
        ("latin-1", "cp1252"),
        ("csISOLatin1", "cp1252"),
        ("ISO_8859-1:1987", "cp1252"),
        ("l2", "iso8859-2"),
        ("latin9", "iso8859-15"),
        ("x-cp1254", "cp1254"),
        ("dos-874", "cp874"),
        ("x-sjis", "cp932"),
        ("ms932", "cp932"),
        ("cp932", "cp932"),
        ("x-euc-jp", "euc-jp"),
        ("csISO2022JP", "iso2022-jp"),
        ("euckr", "cp949"),
        ("ksc5601", "cp949"),
        ("x-gbk", "gb18030"),
        ("cn-big5", "big5hkscs"),
        ("koi8_r", "koi8-r"),
        ("macintosh", "mac-roman"),
    ],
)
def test_a_label_names_the_encoding_that_browsers_take(label: str, codec: str) -> None:
    body = b"<p>\xa4"
    by_header = decode(body, f"{HTML}; charset={label}")
    assert (by_header.encoding, by_header.source) == (codec, CharsetSource.HEADER)
    by_meta = decode(f"<meta charset='{label}'>".encode() + body)
    assert (by_meta.encoding, by_meta.source) == (codec, CharsetSource.META)


@pytest.mark.parametrize("label", ["no-such", "utf-7", "replacement", "hz-gb-2312", "x-user-defined", "rot13", "cp037"])
def test_a_label_that_names_no_character_set_is_ignored(label: str) -> None:
    assert decode("é".encode(), f"{HTML}; charset={label}").source is CharsetSource.DETECTED
    assert decode(f"<meta charset={label}>é".encode()).source is CharsetSource.DETECTED


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


# A language, a short text in it, and the encodings its pages used before UTF-8.
UNDECLARED = [
    ("Каталог товаров: ноутбуки и телефоны", ["cp1251", "koi8-r", "iso8859-5", "cp866"]),
    ("Цена", ["cp1251", "koi8-r"]),
    ("Новини України: їжак, ґанок і єнот", ["cp1251", "koi8-u"]),
    ("Été à la plage : découvrez nos crêpes", ["cp1252"]),
    ("Größe und Länge der Straße in München", ["cp1252"]),
    ("It’s “quoted” – done", ["cp1252"]),
    ("Zażółć gęślą jaźń, łóżko, miód i śnieg", ["iso8859-2", "cp1250"]),
    ("Příliš žluťoučký kůň úpěl ďábelské ódy", ["iso8859-2", "cp1250"]),
    ("Καλημέρα κόσμε, νέα προϊόντα", ["cp1253", "iso8859-7"]),
    ("Türkçe ürünler ve şişe fiyatları ığdır", ["cp1254"]),
    ("שלום עולם, מוצרים חדשים בחנות", ["cp1255"]),
    ("مرحبا بالعالم منتجات جديدة", ["cp1256"]),
    ("สวัสดีชาวโลก สินค้าใหม่", ["cp874"]),
    ("日本語のページです。新しい商品", ["cp932", "euc-jp", "iso2022-jp"]),
    ("東京都", ["cp932", "euc-jp"]),
    ("欢迎光临，新产品价格优惠", ["gb18030"]),
    ("北京新闻", ["gb18030"]),
    ("歡迎光臨，新產品價格優惠", ["big5hkscs"]),
    ("안녕하세요 새로운 상품입니다", ["cp949"]),
]


@pytest.mark.parametrize("text, codec", [(text, codec) for text, codecs in UNDECLARED for codec in codecs])
def test_an_encoding_that_nobody_declares_is_detected(text: str, codec: str) -> None:
    page = f"<!doctype html><title>{text}</title><style>p {{ color: red }}</style><h1>{text}</h1>"
    for body in (text, page):
        found = decode(body.encode(codec), "text/html")
        assert found.text == body
        assert found.source is CharsetSource.DETECTED
        assert 0 < found.confidence <= 1


def test_the_confidence_grows_with_the_evidence() -> None:
    short, long = (decode(("é" * 1 + "Цена " * count).encode("cp1251", "ignore")) for count in (1, 40))
    assert short.confidence < 0.6
    assert long.confidence > 0.9
    assert (decode(b"abc").confidence, decode("é".encode()).confidence) == (1.0, 1.0)
    assert decode(b"\xff\xfea\0").source is CharsetSource.BOM
    assert decode("é".encode(), "text/html; charset=utf-8").source is CharsetSource.HEADER
    assert decode("<meta charset=utf-8>é".encode()).source is CharsetSource.META


@pytest.mark.parametrize("host", ["", "example.ru", "EXAMPLE.RU", "127.0.0.1", "::1", "a.é", "x.", "a..b", "localhost"])
def test_any_host_can_be_named(host: str) -> None:
    assert decode("Каталог товаров".encode("cp1251"), None, lambda: host).text == "Каталог товаров"
