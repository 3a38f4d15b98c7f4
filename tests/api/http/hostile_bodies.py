"""Bodies of 1 MiB that are expensive to check, to parse or to refuse for a server that is careless about it."""

SIZE = 1024 * 1024


def _fill(begin: bytes, unit: bytes, end: bytes) -> bytes:
    return begin + unit * ((SIZE - len(begin) - len(end)) // len(unit)) + end


def _keys(count: int, value: bytes = b"1", start: bytes = b"") -> bytes:
    return b"{" + start + b",".join(b'"k%d":%s' % (number, value) for number in range(count)) + b"}"


_JOB = b"01a1de72-ef57-70cc-9efc-dbcdc746657c"
_COOKIES = b'{"job_id":"%s","cookies":"' % _JOB
HOSTILE_BODIES: dict[str, bytes] = {
    "quotes": b'"' * SIZE,
    "open string of escapes": b'"' + b"\\" * (SIZE - 1),
    "escaped quotes": _fill(b'"', b'\\"', b""),
    "brackets": b"[" * SIZE,
    "braces and quotes": _fill(b"", b'{"', b""),
    "empty lists": _fill(b"[", b"[],", b"[]]"),
    "empty objects": _fill(b"[", b"{},", b"{}]"),
    "small numbers": _fill(b"[", b"1,", b"1]"),
    "one number": b"1" * SIZE,
    "one fraction": b"0." + b"1" * (SIZE - 2),
    "exponent": b"1e" + b"9" * (SIZE - 2),
    "one long string": _fill(b'{"target_url":"http://localhost/', b"a", b'","fields":["title"]}'),
    "one long string of escapes": _fill(b'{"target_url":"', b"\\u0041", b'","fields":["title"]}'),
    "combining marks": _fill(b'{"target_url":"', "\u0301".encode(), b'","fields":["title"]}'),
    "many keys": _keys(9_900),
    "too many keys": _keys(75_000),
    "one key again and again": _fill(b'{"a":1', b',"a":1', b"}"),
    "keys twice": _keys(4_900, start=_keys(4_900)[1:-1] + b","),
    "keys of objects": _keys(4_900, b"{}"),
    "long keys": b"{" + b",".join(b'"%s%d":1' % (b"k" * 1000, number) for number in range(1000)) + b"}",
    "many fields": b'{"target_url":"http://localhost/","fields":[' + b",".join([b'"a"'] * 9_900) + b"]}",
    "many recipes": b'{"target_url":"http://localhost/","fields":[' + b",".join([b'{"name":1}'] * 4_900) + b"]}",
    "fields of the longest name": b'{"target_url":"http://localhost/","fields":['
    + b",".join(b'"%s%d"' % (b"n" * 190, number) for number in range(200))
    + b"]}",
    "selectors of brackets": b'{"target_url":"http://localhost/","fields":['
    + b",".join(b'{"name":"f%d","css":"%s"}' % (number, b":is(" * 1000) for number in range(200))
    + b"]}",
    "selectors of commas": b'{"target_url":"http://localhost/","fields":['
    + b",".join(b'{"name":"f%d","css":"%s"}' % (number, b"a," * 2000 + b"a") for number in range(200))
    + b"]}",
    "xpaths of brackets": b'{"target_url":"http://localhost/","fields":['
    + b",".join(b'{"name":"f%d","xpath":"%s"}' % (number, b"(" * 4096) for number in range(200))
    + b"]}",
    "xpaths of steps": b'{"target_url":"http://localhost/","fields":['
    + b",".join(b'{"name":"f%d","xpath":"%s"}' % (number, b"//a" * 1365) for number in range(200))
    + b"]}",
    "jsonpaths": b'{"target_url":"http://localhost/","fields":['
    + b",".join(b'{"name":"f%d","jsonpath":"$%s"}' % (number, b"..a" * 1365) for number in range(200))
    + b"]}",
    "regexes": b'{"target_url":"http://localhost/","fields":['
    + b",".join(b'{"name":"f%d","regex":"%s"}' % (number, b"(a*)*" * 819) for number in range(200))
    + b"]}",
    "regexes of counts": b'{"target_url":"http://localhost/","fields":['
    + b",".join(b'{"name":"f%d","regex":"%s"}' % (number, b"(a{1,99}){1,99}" * 200) for number in range(200))
    + b"]}",
    "cookies of semicolons": _fill(_COOKIES, b"; ", b'"}'),
    "cookies in one line": _fill(_COOKIES, b"a=b; ", b'"}'),
    "cookies in lines": _fill(_COOKIES, b"a\\tTRUE\\t/\\tFALSE\\t0\\tn\\tv\\n", b'"}'),
    "cookies of tabs": _fill(_COOKIES, b"\\t", b'"}'),
    "cookies of lines": _fill(_COOKIES, b"\\n", b'"}'),
    "many unknown cookies": b'{"job_id":"%s","cookies":[' % _JOB + b",".join([_keys(8)] * 1000) + b"]}",
    "crawl patterns": b'{"url":"http://localhost/","include":[' + b",".join([b'"%s"' % (b"*a" * 250)] * 100) + b"]}",
    "crawl keywords": b'{"url":"http://localhost/","keywords":[' + b",".join([b'"%s"' % (b"a" * 100)] * 9_900) + b"]}",
    "not UTF-8": b'{"a":"' + b"\xff" * (SIZE - 8) + b'"}',
    "NULs": b"\x00" * SIZE,
    "spaces": b" " * SIZE,
}
