"""Read secrets without showing them: from files, standard input, or a prompt that does not echo."""

import json
import sys
from collections.abc import Sequence
from getpass import getpass
from pathlib import Path
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.sites.session_text import cookies_of_text
from corral.engine.usecases.sessions import SessionDraft


def parse_named_value(text: str, option: str) -> tuple[str, str]:
    """Parse `NAME=VALUE`; `NAME=@FILE` reads the value from a file, `NAME=-` prompts for it."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        # The message omits the text, because it may be the bare secret.
        raise BadInput(f"{option} is not NAME=VALUE", field=option.lstrip("-"))
    if value == "-":
        return name, _prompt(name)
    if value.startswith("@"):
        return name, _read(Path(value[1:]), option).strip("\r\n")
    return name, value


def text_or_file(text: str, option: str) -> str:
    """Return the text, or the content of FILE for `@FILE`."""
    return _read(Path(text[1:]), option).strip() if text.startswith("@") else text


def read_draft(cookies: Path | None, singles: Sequence[str], name: str) -> SessionDraft:

    document = _document(cookies) if cookies is not None else {}
    all_cookies = [*document.get("cookies", []), *(_single(text) for text in singles)]
    if not all_cookies and not document:
        raise BadInput("no session is given", field="cookies", hint="use --cookies FILE.json or --cookie NAME=-")
    storage = document.get("storage") or {
        origin["origin"]: {item["name"]: item["value"] for item in origin["localStorage"]}
        for origin in document.get("origins", [])
    }
    return SessionDraft(all_cookies, storage, document.get("headers") or {}, name)


def _single(text: str) -> dict[str, str]:
    name, value = parse_named_value(text, "--cookie")
    return {"name": name, "value": value}


def _document(path: Path) -> dict[str, Any]:
    text = sys.stdin.read() if str(path) == "-" else _read(path, "--cookies")
    wrong = BadInput(
        f"{path} holds neither a list of cookies nor a storage state",
        field="cookies",
        hint='for example [{"name": "sid", "value": "…", "domain": "example.com", "path": "/"}]; or a cookies.txt',
    )
    if text.lstrip()[:1] not in ("[", "{"):
        return {"cookies": cookies_of_text(text)}
    try:
        document = json.loads(text)
    except ValueError:
        raise wrong from None
    shape = {"cookies": document} if isinstance(document, list) else document
    if not isinstance(shape, dict) or not _is_session(shape):
        raise wrong
    return shape


def _is_session(shape: dict[str, Any]) -> bool:
    cookies, origins = shape.get("cookies", []), shape.get("origins", [])
    if not isinstance(cookies, list) or not all(isinstance(each, dict) for each in cookies):
        return False
    if not isinstance(origins, list):
        return False
    for origin in origins:
        items = origin.get("localStorage", []) if isinstance(origin, dict) else None
        if items is None or not all(isinstance(item, dict) and {"name", "value"} <= item.keys() for item in items):
            return False
    texts = [*(shape.get("headers") or {}).values()] if isinstance(shape.get("headers") or {}, dict) else [None]
    storage = shape.get("storage") or {}
    if not isinstance(storage, dict) or not all(isinstance(values, dict) for values in storage.values()):
        return False
    texts += [text for values in storage.values() for text in values.values()]
    return all(isinstance(text, str) for text in texts)


def _read(path: Path, option: str) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise BadInput(f"{path} cannot be read ({reason})", field=option.lstrip("-")) from None


def _prompt(name: str) -> str:

    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    return getpass(f"{name}: ")
