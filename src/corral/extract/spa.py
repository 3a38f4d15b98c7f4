"""Whether a page is only the shell of an application that a browser would fill."""

import re
from collections.abc import Sequence

from corral.domain.job import FieldSpec
from corral.extract.fields import extract_from
from corral.extract.page import Page

# Less visible text than this is a loading message, not content.
_LITTLE_TEXT_CHARS = 200
_MOUNT_POINTS = (
    "#root, #app, #__next, #__nuxt, #___gatsby, #svelte, #application, #app-root, #ember-app, #q-app, "
    "app-root, [ng-app], [data-ng-app], [ng-version], [data-reactroot], [data-v-app], [data-server-rendered]"
)
_IN_SCRIPTS = re.compile(
    r"__NEXT_DATA__|__NUXT__|__INITIAL_STATE__|__APOLLO_STATE__|webpackJsonp|webpackChunk|__remixContext"
    r"|/_next/static/|/static/js/main\.|/assets/index[.-]|data-reactroot|ng-version"
)
_ASKS_FOR_SCRIPT = re.compile(r"(?i)(enable|requires?|need)s?\b.{0,40}javascript|javascript.{0,40}\b(enable|require)")


def is_application_shell(html: str, fields: Sequence[FieldSpec]) -> bool:
    """True where the page carries an application's marks and the asked fields are not in it."""
    page = Page(html)
    if not _has_marks(page, html):
        return False
    has_little_text = len(page.body_text) < _LITTLE_TEXT_CHARS
    missing = extract_from(page, fields).missing
    if not fields:
        return has_little_text
    # A shell has a title too: with an empty body one missing field is enough, otherwise all must be.
    return bool(missing) if has_little_text else len(missing) == len(fields)


def _has_marks(page: Page, html: str) -> bool:
    if page.tree.css_first(_MOUNT_POINTS) is not None or _IN_SCRIPTS.search(html):
        return True
    return any(_ASKS_FOR_SCRIPT.search(node.text(deep=True) or "") for node in page.tree.css("noscript")[:20])
