"""Cookies as text: a cookies.txt file of Netscape and curl, or the Cookie line of a request."""

from typing import Any

from corral.domain.errors import BadInput

# Exported attributes (browsers, extensions, Playwright) that do not affect where a cookie is sent.
OF_BROWSERS = frozenset(
    {
        *("hostOnly", "session", "storeId", "id", "priority", "size", "firstPartyDomain", "sameParty"),
        *("sourceScheme", "sourcePort", "partitionKey", "partitionKeyOpaque", "partitioned", "_crHasCrossSiteAncestor"),
    }
)
_HTTP_ONLY = "#HttpOnly_"
_COLUMNS = 7


def cookies_of_text(text: str) -> list[dict[str, Any]]:
    """Parse `cookies.txt` or `name=value; name=value`; BadInput for anything else never quotes the text."""
    lines = [line for line in text.splitlines() if line.strip()]
    rows = [line for line in lines if line.startswith(_HTTP_ONLY) or not line.startswith("#")]
    if any(line.count("\t") >= _COLUMNS - 1 for line in rows):
        return [_of_line(line, number) for number, line in enumerate(rows)]
    if len(rows) == 1 and "=" in rows[0]:
        pairs = rows[0].strip().removeprefix("Cookie:").removeprefix("cookie:").split(";")
        return [_of_pair(pair, number) for number, pair in enumerate(pairs) if pair.strip()]
    raise BadInput(
        "the text contains no cookies",
        field="cookies",
        hint="a list of cookies, a cookies.txt as curl writes it, or name=value; name=value",
    )


def _of_line(line: str, number: int) -> dict[str, Any]:
    cells = line.removeprefix(_HTTP_ONLY).split("\t", _COLUMNS - 1)
    if len(cells) != _COLUMNS or not cells[4].strip().lstrip("-").isdigit():
        raise BadInput(
            f"cookie {number + 1} does not have the seven columns of a cookies.txt", field=f"cookies.{number}"
        )
    domain, subdomains, path, secure, expires, name, value = (cell.strip() for cell in cells)
    bare = domain.removeprefix(".")
    return {
        "name": name,
        "value": value,
        "domain": f".{bare}" if subdomains.upper() == "TRUE" else bare,
        "path": path,
        "expires": int(expires[:18]),
        "secure": secure.upper() == "TRUE",
        "httpOnly": line.startswith(_HTTP_ONLY),
    }


def _of_pair(pair: str, number: int) -> dict[str, Any]:
    name, equals, value = pair.strip().partition("=")
    if not equals:
        raise BadInput(f"cookie {number + 1} is not name=value", field=f"cookies.{number}")
    return {"name": name, "value": value}
