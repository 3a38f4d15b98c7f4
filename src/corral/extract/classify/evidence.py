"""The evidence for page classification: small functions that each describe what they find, and their weights."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from corral.extract.classify.phrases import (
    BLOCK_PHRASES,
    BLOCK_TITLE,
    CHALLENGE_TITLE,
    GONE,
    GONE_BARE,
    GONE_PHRASE,
    LOGIN_PHRASE,
    LOGIN_TITLE,
    PRICE,
    SUBMIT_LOGIN,
    says,
)
from corral.extract.classify.shells import is_application_shell
from corral.extract.classify.signs import CHALLENGE_MARKUP, CHALLENGE_SCRIPT, WATCHING_SCRIPT, Signs

Evidence = str | None  # a description of what was found
_MAX_TEXT_CHARS = 80
_REFUSING = frozenset({401, 403, 429})
_VENDOR_SERVERS = ("akamaighost", "cloudflare", "ddos-guard", "sucuri")
_VENDOR_COOKIES = ("datadome=", "incap_ses_", "_px", "ak_bmsc=", "__cf_bm=", "aws-waf-token=", "reese84=")


def quote(text: str | None) -> str:
    return f"“{' '.join((text or '').split())[:_MAX_TEXT_CHARS]}”"


# -- refused: block pages and captchas ---------------------------------------------------------------------


def challenge_header(signs: Signs) -> Evidence:
    """Find headers that servers send only with a challenge or a refusal."""
    headers = signs.response.headers
    if "challenge" in headers.get("cf-mitigated", "").lower():
        return "the header cf-mitigated"
    if headers.get("x-amzn-waf-action", "").lower() in ("captcha", "challenge"):
        return "the header x-amzn-waf-action"
    return next((f"the header {name}" for name in ("x-sucuri-block", "x-dd-b") if headers.get(name)), None)


def challenge_script(signs: Signs) -> Evidence:
    found = signs.in_scripts(CHALLENGE_SCRIPT)
    return f"a challenge script ({found})" if found else None


def challenge_markup(signs: Signs) -> Evidence:
    node = signs.first(CHALLENGE_MARKUP) if signs.mentions_bot_detection else None
    return (
        f"a challenge in the markup ({_label_element(node.tag, node.attributes.get('id'))})"
        if node is not None
        else None
    )


def widget_alone(signs: Signs) -> Evidence:
    alone = signs.widget is not None and signs.has_little_prose and not signs.has_other_inputs
    return "nothing to fill in but a captcha" if alone else None


def widget(signs: Signs) -> Evidence:
    node = signs.widget
    if node is None:
        return None
    return f"a captcha ({_label_element(node.tag, node.attributes.get('id') or node.attributes.get('class'))})"


def watching_script(signs: Signs) -> Evidence:
    """Find scripts of a bot detection. Low weight: the same scripts run on pages that were let through."""
    return "a script of a bot detection" if signs.in_scripts(WATCHING_SCRIPT) else None


def challenge_title(signs: Signs) -> Evidence:
    return _find_in_title(signs, CHALLENGE_TITLE)


def block_title(signs: Signs) -> Evidence:
    return _find_in_title(signs, BLOCK_TITLE)


def block_heading(signs: Signs) -> Evidence:
    """Find a block sentence in the headings, unless the title has one: many pages repeat their title there."""
    return None if challenge_title(signs) or block_title(signs) else _find_in_headings(signs, BLOCK_TITLE)


def block_phrase(signs: Signs) -> Evidence:
    return _find_block_phrase(signs, index=0)


def another_block_phrase(signs: Signs) -> Evidence:
    return _find_block_phrase(signs, index=1)


def refusing_status(signs: Signs) -> Evidence:
    return f"the status {signs.response.status}" if signs.response.status in _REFUSING else None


def vendor(signs: Signs) -> Evidence:
    """Find headers and cookies of a bot detection. Low weight: most pages behind one are let through."""
    headers = signs.response.headers
    if headers.get("server", "").lower().startswith(_VENDOR_SERVERS) or "x-datadome" in headers or "x-iinfo" in headers:
        return "headers of a bot detection"
    cookies = headers.get("set-cookie", "").lower()[:10_000]
    return "cookies of a bot detection" if any(name in cookies for name in _VENDOR_COOKIES) else None


# -- login walls -------------------------------------------------------------------------------------------


def login_redirect(signs: Signs) -> Evidence:
    return f"a redirect to {quote(signs.response.final_url)}" if signs.redirects_to_login else None


def return_address(signs: Signs) -> Evidence:
    return "the requested address in the query of the login page" if signs.carries_requested_path else None


def password_form(signs: Signs) -> Evidence:
    return "a password field in the middle of the page" if signs.password is not None else None


def login_button(signs: Signs) -> Evidence:
    if signs.password is None:
        return None
    label = next((text for text in signs.submit_labels if says(SUBMIT_LOGIN, text)), None)
    return f"the button {quote(label)}" if label else None


def login_title(signs: Signs) -> Evidence:
    return _find_in_title(signs, LOGIN_TITLE)


def login_phrase(signs: Signs) -> Evidence:
    return _find_phrase(signs, LOGIN_PHRASE)


def login_requested(signs: Signs) -> Evidence:
    return "a login page was requested" if signs.is_login_requested else None


# -- soft 404 ----------------------------------------------------------------------------------------------


def not_found_title(signs: Signs) -> Evidence:
    return _find_in_title(signs, GONE)


def bare_not_found_title(signs: Signs) -> Evidence:
    """Find a bare “Not Found” as the title. Low weight: works have been called that, unlike “Page not found”."""
    return _find_in_title(signs, GONE_BARE)


def not_found_heading(signs: Signs) -> Evidence:
    return _find_in_headings(signs, GONE)


def not_found_phrase(signs: Signs) -> Evidence:
    return _find_phrase(signs, GONE_PHRASE)


def not_found_redirect(signs: Signs) -> Evidence:
    return f"a redirect to {quote(signs.response.final_url)}" if signs.redirects_to_not_found else None


def home_redirect(signs: Signs) -> Evidence:
    return "a redirect to the home page" if signs.redirects_home else None


def not_found_class(signs: Signs) -> Evidence:
    marks = {"error404", "error-404", "page-404", "not-found", "page-not-found", "http-404"}
    found = marks & set(signs.root_classes.split())
    return f"the page's class {min(found)}" if found else None


# -- empty shells ------------------------------------------------------------------------------------------


def application_shell(signs: Signs) -> Evidence:
    # The check parses the document again, so it runs only if it can matter.
    is_worthwhile = bool(signs.fields_missing) and signs.has_little_prose
    return "an application that was not rendered" if is_worthwhile and is_application_shell(signs.html, ()) else None


def blank_page(signs: Signs) -> Evidence:
    return "nothing visible on the page" if signs.is_blank else None


def redirect_only(signs: Signs) -> Evidence:
    return "a page with nothing but a redirect" if signs.is_blank and signs.refresh else None


# -- about the page as a whole -----------------------------------------------------------------------------


def little_text(signs: Signs) -> Evidence:
    return f"little text ({len(signs.prose)} characters)" if signs.has_little_prose else None


def noindex(signs: Signs) -> Evidence:
    return "the page is marked noindex" if signs.is_noindex else None


def fields_missing(signs: Signs) -> Evidence:
    names = ", ".join(signs.fields_missing)
    return f"not found: {names[:_MAX_TEXT_CHARS]}" if names else None


def long_text(signs: Signs) -> Evidence:
    return "long text" if signs.has_long_prose else None


def content_structure(signs: Signs) -> Evidence:
    if signs.content_mark:
        return f"it describes itself as {signs.content_mark[:_MAX_TEXT_CHARS]}"
    return "the structure of an article" if signs.is_article else None


def sample_code(signs: Signs) -> Evidence:
    """Find a code example: articles have them, block pages do not."""
    return "an example of code" if b"<pre" in signs.source and signs.first("pre") is not None else None


def price(signs: Signs) -> Evidence:
    return "a price" if PRICE.search(signs.prose) else None


def listing(signs: Signs) -> Evidence:
    return "many links, rows or pictures" if signs.is_listing else None


def fields_found(signs: Signs) -> Evidence:
    is_found = not signs.fields_missing and not signs.response.wants_title_only
    return "every requested field was found" if is_found else None


def title_found(signs: Signs) -> Evidence:
    """Note that the only requested field is the title. Low weight: a “not found” page has one, too."""
    is_found = not signs.fields_missing and signs.response.wants_title_only
    return "the title was found, and nothing else was requested" if is_found else None


# -- the table ---------------------------------------------------------------------------------------------

Cause = Literal["refused", "login", "gone", "shell"]
# A cause is accepted if the sum of its weights reaches this. The evidence “about the page as a whole” alone never
# does: it takes evidence of the kind of page. A refused page with something to solve is a captcha, else a block.
THRESHOLD = 4.0


@dataclass(frozen=True, slots=True)
class Row:
    detect: Callable[[Signs], Evidence]
    refused: float = 0.0
    login: float = 0.0
    gone: float = 0.0
    shell: float = 0.0

    @property
    def is_incriminating(self) -> bool:
        return max(self.refused, self.login, self.gone, self.shell) > 0

    def weight(self, cause: Cause) -> float:
        return float(getattr(self, cause))


# fmt: off
TABLE = (
    #                       refused  login   gone  shell
    Row(challenge_header,       4.0,   0.0,   0.0,   0.0),
    Row(challenge_script,       4.0,   0.0,   0.0,   0.0),
    Row(challenge_markup,       3.0,   0.0,   0.0,   0.0),
    Row(widget_alone,           2.5,   0.0,   0.0,   0.0),
    Row(widget,                 1.0,   0.0,   0.0,   0.0),
    Row(watching_script,        1.0,   0.0,   0.0,   0.0),
    Row(challenge_title,        3.0,   0.0,   0.0,   0.0),
    Row(block_title,            2.0,   0.0,   0.0,   0.0),
    Row(block_heading,          1.5,   0.0,   0.0,   0.0),
    Row(block_phrase,           2.0,   0.0,   0.0,   0.0),
    Row(another_block_phrase,   1.0,   0.0,   0.0,   0.0),
    Row(refusing_status,        1.0,   0.0,   0.0,   0.0),
    Row(vendor,                 0.5,   0.0,   0.0,   0.0),

    Row(login_redirect,          0.0,   3.0,   0.0,   0.0),
    Row(return_address,         0.0,   1.0,   0.0,   0.0),
    Row(password_form,          0.0,   2.0,   0.0,   0.0),
    Row(login_button,           0.0,   1.0,   0.0,   0.0),
    Row(login_title,            0.0,   1.5,   0.0,   0.0),
    Row(login_phrase,           0.0,   1.5,   0.0,   0.0),
    Row(login_requested,            0.0,  -4.0,   0.0,   0.0),

    Row(not_found_title,             0.0,   0.0,   3.0,   0.0),
    Row(bare_not_found_title,        0.0,   0.0,   1.5,   0.0),
    Row(not_found_heading,           0.0,   0.0,   2.0,   0.0),
    Row(not_found_phrase,            0.0,   0.0,   1.5,   0.0),
    Row(not_found_redirect,               0.0,   0.0,   2.0,   0.0),
    Row(home_redirect,              0.0,   0.0,   1.0,   0.0),
    Row(not_found_class,             0.0,   0.0,   1.5,   0.0),

    Row(application_shell,      0.0,   0.0,   0.0,   3.5),
    Row(blank_page,             1.0,   0.0,   0.0,   3.5),
    Row(redirect_only,                0.0,   0.0,   0.0,   0.5),

    # about the page as a whole
    Row(little_text,            1.0,   1.0,   1.0,   0.0),
    Row(noindex,                0.5,   0.5,   0.5,   0.0),
    Row(fields_missing,         0.5,   0.5,   0.5,   0.5),
    Row(long_text,             -3.0,  -3.0,  -3.0,  -3.0),
    Row(content_structure,     -2.0,  -2.0,  -3.0,  -2.0),
    Row(sample_code,           -1.5,   0.0,  -1.0,   0.0),
    Row(price,                  0.0,  -1.0,  -2.0,  -1.0),
    Row(listing,                0.0,  -1.5,  -1.0,  -1.0),
    Row(fields_found,          -1.0,  -3.0,  -4.0,  -4.0),
    Row(title_found,           -1.0,  -1.0,  -2.0,  -4.0),
)
# fmt: on


def _find_in_title(signs: Signs, pattern: re.Pattern[str]) -> Evidence:
    return f"the title {quote(signs.title)}" if signs.has_odd_title and says(pattern, signs.title) else None


def _label_element(tag: str | None, mark: str | None) -> str:
    return f"{tag} {mark[:_MAX_TEXT_CHARS]}" if mark else f"{tag}"


def _find_in_headings(signs: Signs, pattern: re.Pattern[str]) -> Evidence:
    heading = next((text for text in signs.headings if says(pattern, text)), None)
    return f"the heading {quote(heading)}" if heading else None


def _find_phrase(signs: Signs, pattern: re.Pattern[str]) -> Evidence:
    found = None if signs.has_long_prose else pattern.search(signs.prose)
    return f"the words {quote(found[0])}" if found else None


def _find_block_phrase(signs: Signs, index: int) -> Evidence:
    """Find the block phrase number `at`. In a long text such words are the subject and do not count."""
    if signs.has_long_prose:
        return None
    found = [match[0] for pattern in BLOCK_PHRASES if (match := pattern.search(signs.prose))]
    return f"the words {quote(found[index])}" if len(found) > index else None
