"""Helpers of the tests of verdict good, shared with other tests."""

from tests.extract.pages.builders import FOOTER, LONG, MENU, SENTENCE, answer, html, read_page

LOGIN_FORM = "<form action=/login><input name=u><input type=password name=p><button>Log in</button></form>"


PRODUCT = '<script type="application/ld+json">{"@type": "Product", "name": "Rope", "price": 9}</script>'


SHORT = f"<h1>Rope</h1><p>{SENTENCE}</p>"


NEWSLETTER = "<form>News: <input type=email name=e><div class=cf-turnstile></div><button>Subscribe</button></form>"


# Judged twice: with every field found, and with one missing.
ALWAYS = {
    "article about captchas": answer(read_page("article_about_captchas")),
    "docs about 403": answer(read_page("docs_403")),
    "product called Not Found": answer(read_page("product_not_found")),
    "blog with a login in its header": answer(read_page("blog_with_login")),
    "shop with a captcha at its newsletter": answer(html("Rope | Shop", f"{SHORT}<p>€ 9</p>{NEWSLETTER}", PRODUCT)),
    "the same without structure": answer(html("Rope | Shop", f"{SHORT}<p>€ 9</p>{NEWSLETTER}")),
    "captcha in the footer": answer(html("Rope", f"{SHORT}<footer><div class=h-captcha></div></footer>")),
    "invisible captcha": answer(html("Rope", f"{SHORT}<div class=g-recaptcha data-size=invisible></div>")),
    "contact form with a captcha": answer(
        html("Contact", "<h1>Write to us</h1><form><textarea name=t></textarea><div class=g-recaptcha></div></form>")
    ),
    "let through by Cloudflare": answer(
        html("Rope", f"{SHORT}<script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js></script>"),
        server="cloudflare",
        set_cookie="__cf_bm=0; path=/",
    ),
    "let through by Imperva": answer(
        html("Rope", f"{SHORT}<script src='/_Incapsula_Resource?SWJIYLWA=0'></script>"), set_cookie="incap_ses_1=0"
    ),
    "film called Access Denied": answer(html("Access Denied | Films", f"<h1>Access Denied</h1><p>{SENTENCE * 3}</p>")),
    "widget shown in documentation": answer(
        html(
            "Adding the widget",
            f"<h1>Widget</h1>{'<p>' + SENTENCE * 4 + '</p>'}{'<p>' + SENTENCE * 6 + '</p>'}<div class=h-captcha></div>",
        )
    ),
    "long tutorial on logging in": answer(html("Log in with OAuth | Docs", f"<h1>Log in</h1>{LONG}{LOGIN_FORM}")),
    "forum with a login box": answer(
        html("Forum", f"<div>{LOGIN_FORM}</div><table>" + "<tr><td><a href=/t>Thread</a></td></tr>" * 30 + "</table>")
    ),
    "login in a dialog": answer(html("Rope", f"{SHORT}<dialog>{LOGIN_FORM}</dialog>")),
    "a login page that was asked for": answer(
        html("Sign in", LOGIN_FORM), url="https://shop.example/login", asked="https://shop.example/login"
    ),
    "a page of an author": answer(html("Ida Brandt", SHORT), url="https://shop.example/author/ida"),
    "docs about 404": answer(html("404 Not Found - HTTP | Docs", f"<article><h1>404 Not Found</h1>{LONG}</article>")),
    "post on fixing pages not found": answer(html("How to fix “Page not found” errors", f"<h1>Fixing</h1>{SHORT}")),
    "short page": answer(html("Opening hours", "<h1>Opening hours</h1><p>Monday to Friday, 9 to 17.</p>")),
    "short page kept from search": answer(
        html("Rope", SHORT, "<meta name=robots content=noindex>"), server="cloudflare"
    ),
    "pictures and nothing else": answer(html("Gallery", "<img src=/1.jpg><img src=/2.jpg><script></script>")),
    "drawn application": answer(html("Rope", f"<div id=root>{SHORT}{LONG}</div><script>webpackChunk=[]</script>")),
    "list of links": answer(html("Articles", "".join(f"<li><a href=/a/{n}>Article {n}</a></li>" for n in range(50)))),
    "menus only": answer(html("Departments", MENU + FOOTER)),
    "source code of a block page": answer(read_page("challenge"), content_type="text/plain"),
    "feed about captchas": answer(f"<rss><title>Captcha</title>{LONG}</rss>", content_type="application/rss+xml"),
    "JSON with content": answer(
        '{"message": "Not Found", "items": [1], "title": "An album"}', content_type="application/json"
    ),
    "JSON of a thing so named": answer('{"name": "Access denied", "id": 4}', content_type="application/json"),
    "list in JSON": answer("[]", content_type="application/json"),
    "text that mentions it": answer(f"403 Forbidden and other numbers. {SENTENCE}", content_type="text/plain"),
    "picture": answer("\x00\x01captcha", content_type="image/png"),
    "no content": answer("", status=204),
    "honest 404": answer(html("Page not found", "<h1>Page not found</h1>"), status=404),
    "honest 500": answer(html("Server error", "<h1>Something went wrong</h1>"), status=500),
    "maintenance": answer(
        html("Down for maintenance", "<p>We will be back soon.</p>", "<meta name=robots content=noindex>"),
        status=503,
        server="cloudflare",
    ),
    "origin down behind Cloudflare": answer(
        html("shop.example | 521: Web server is down", "<div id=cf-error-details><h1>Web server is down</h1></div>"),
        status=521,
        server="cloudflare",
    ),
    "redirect loop page": answer(html("Moved", "<a href=/x>here</a>"), status=302),
}


# Here the fields decide: without them the same page would be a shell, a wall or a dead end.
WHEN_FOUND = {
    "application with its data in JSON-LD": answer(html("Rope", "<div id=root></div>", PRODUCT)),
    "application shell whose title was all that was asked": answer(read_page("shell")),
    "short portal with a login form": answer(html("Portal", f"<p>News of today.</p>{LOGIN_FORM}")),
    "product that says so of itself": answer(html("Not Found", "<h1>Not found</h1><p>€ 12, the page has moved.</p>")),
}
