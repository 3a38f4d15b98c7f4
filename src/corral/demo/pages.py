"""The HTML of the site. Every function takes values and returns a document; none depends on a request."""

import json
from collections.abc import Iterable
from html import escape

from corral.demo.content import DemoArticle

SITE_NAME = "The Paddock Review"

_INDEX_SECTIONS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "To read",
        (
            ("/articles", "sixty articles, ten to a page, with next links"),
            ("/shop", "a shop drawn by JavaScript; the HTML is an empty shell"),
            ("/api/products?page=1", "the JSON behind the shop"),
            ("/gallery", "pictures of three animals; some are copies, some are broken"),
            ("/sitemap.xml", "every address worth crawling"),
            ("/robots.txt", "keeps robots out of /private"),
            ("/private/secret", "what robots.txt disallows"),
        ),
    ),
    (
        "Behind a login",
        (
            ("/login", "user demo, password demo"),
            ("/account", "a login wall with status 200 until you sign in"),
            ("/account?strict=1", "the same page, but 401 until you sign in"),
            ("/logout", "forget the session"),
        ),
    ),
    (
        "Misbehaving on purpose",
        (
            ("/blocked", "403 with a block page"),
            ("/unauthorized", "401"),
            ("/limited?key=you", "429 with Retry-After for the first two requests of a key"),
            ("/flaky?key=you&fail=1", "503 for the first requests of a key, then fine"),
            ("/slow?seconds=3", "answers late"),
            ("/broken", "500"),
            ("/gone", "410"),
            ("/missing", "404"),
            ("/reset", "drops the connection in the middle of the body"),
            ("/redirect?n=3", "n redirects, then the articles"),
            ("/redirect-loop", "redirects to itself"),
            ("/empty", "200 and not one byte"),
            ("/notitle", "a page without a title"),
            ("/large?bytes=1048576", "as many bytes of HTML as you ask for"),
        ),
    ),
)


def document(title: str | None, body: str, *, head: str = "") -> str:
    title_tag = "" if title is None else f"<title>{escape(title)}</title>\n"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{title_tag}<link rel="stylesheet" href="/static/style.css">
{head}</head>
<body>
<header><strong>{SITE_NAME}</strong>
<a href="/">Home</a> <a href="/articles">Articles</a> <a href="/shop">Shop</a> <a href="/account">Account</a>
</header>
<main>
{body}
</main>
<footer>A demonstration site. All persons mentioned are fictitious.</footer>
</body>
</html>
"""


def index_page() -> str:
    sections = "".join(f"<h2>{heading}</h2>\n{_link_table(links)}" for heading, links in _INDEX_SECTIONS)
    intro = "<p>A small site to scrape: some of it is pleasant, some is not, and each page says which.</p>"
    return document(SITE_NAME, f"<h1>{SITE_NAME}</h1>\n{intro}\n{sections}")


def article_list_page(articles: Iterable[DemoArticle], page: int, page_count: int) -> str:
    items = "\n".join(
        f'<li class="article"><h2><a href="/articles/{article.slug}">{escape(article.title)}</a></h2>'
        f'<p class="meta">{escape(article.author)}, {_day(article)}</p>'
        f'<p class="description">{escape(article.description)}</p></li>'
        for article in articles
    )
    before = f"/articles?page={page - 1}" if page > 1 else None
    after = f"/articles?page={page + 1}" if page < page_count else None
    pager = _pager((before, "Newer"), (after, "Older"))
    body = f'<h1>Articles</h1>\n<ul class="articles">\n{items}\n</ul>\n{pager}'
    return document(f"Articles, page {page} of {page_count}", body, head=_pager_head(before, after))


def article_page(article: DemoArticle, url: str, before: DemoArticle | None, after: DemoArticle | None) -> str:
    paragraphs = "\n".join(f"<p>{escape(text)}</p>" for text in article.paragraphs)
    tags = "".join(f"<li>{escape(tag)}</li>" for tag in article.tags)
    before_link = (f"/articles/{before.slug}", before.title) if before else (None, "")
    after_link = (f"/articles/{after.slug}", after.title) if after else (None, "")
    body = f"""<article>
<h1>{escape(article.title)}</h1>
<p class="meta">By <span class="author">{escape(article.author)}</span>, {_day(article)}</p>
<div class="body">
{paragraphs}
</div>
<ul class="tags">{tags}</ul>
</article>
{_pager(before_link, after_link)}"""
    head = _article_head(article, url) + _pager_head(before_link[0], after_link[0])
    return document(f"{article.title} | {SITE_NAME}", body, head=head)


def shop_shell() -> str:
    """Return the HTML of the shop, the same for every product: names and prices come from the API."""
    return """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Shop</title>
<link rel="stylesheet" href="/static/style.css">
</head>
<body>
<noscript>You need to enable JavaScript to run this app.</noscript>
<div id="root" data-reactroot=""></div>
<script>window.__INITIAL_STATE__ = {};</script>
<script src="/static/shop.js" defer></script>
</body>
</html>
"""


def login_page(problem: str = "", *, heading: str = "Sign in") -> str:
    error = f'<p class="error" role="alert">{escape(problem)}</p>\n' if problem else ""
    body = f"""<h1>{escape(heading)}</h1>
{error}<form method="post" action="/login">
<label>User <input name="username" autocomplete="username" required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button type="submit">Sign in</button>
</form>"""
    return document(heading, body)


def account_page() -> str:
    rows = (("Member", "Demo Reader"), ("Member since", "2023-02-06"), ("Plan", "Paper and pixels"))
    cells = "".join(f'<tr><td>{name}</td><td class="value">{value}</td></tr>' for name, value in rows)
    logout_link = '<p><a href="/logout">Sign out</a></p>'
    return document("Your account", f"<h1>Your account</h1>\n<table>{cells}</table>\n{logout_link}")


def notice_page(title: str, text: str) -> str:
    return document(title, f"<h1>{escape(title)}</h1>\n<p>{escape(text)}</p>")


def block_page() -> str:
    text = (
        "Our systems have detected unusual traffic from your network. Access to this page has been blocked. "
        "If you believe this is an error, contact the site owner and quote the reference below."
    )
    reference = "<p>Reference: <code>PR-403-7A1F</code></p>"
    return document("Access denied", f"<h1>Access denied</h1>\n<p>{text}</p>\n{reference}")


def sitemap(urls: Iterable[str]) -> str:
    entries = "\n".join(f"<url><loc>{escape(url)}</loc></url>" for url in urls)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{entries}
</urlset>
"""


def _link_table(links: Iterable[tuple[str, str]]) -> str:
    rows = "\n".join(
        f'<tr><td><a href="{escape(path)}"><code>{escape(path)}</code></a></td><td>{escape(what)}</td></tr>'
        for path, what in links
    )
    return f"<table>\n{rows}\n</table>\n"


def _article_head(article: DemoArticle, url: str) -> str:
    title, description = escape(article.title), escape(article.description)
    properties = {
        "og:type": "article",
        "og:title": title,
        "og:description": description,
        "og:url": escape(url),
        "og:site_name": SITE_NAME,
        "article:published_time": article.published_on.isoformat(),
        "article:author": escape(article.author),
    }
    tags = "".join(f'<meta property="{name}" content="{value}">\n' for name, value in properties.items())
    return (
        f'<meta name="description" content="{description}">\n'
        f'<link rel="canonical" href="{escape(url)}">\n{tags}'
        f'<script type="application/ld+json">{_json_ld(article, url)}</script>\n'
    )


def _json_ld(article: DemoArticle, url: str) -> str:
    data = {
        "@context": "https://schema.org",
        "@type": "Article",
        "headline": article.title,
        "description": article.description,
        "author": {"@type": "Person", "name": article.author},
        "datePublished": article.published_on.isoformat(),
        "keywords": list(article.tags),
        "url": url,
    }
    # A script element ends at the first `</script`, even inside a JSON string.
    return json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")


def _pager(before: tuple[str | None, str], after: tuple[str | None, str]) -> str:
    links = [
        f'<a rel="{rel}" href="{href}">{escape(label)}</a>' if href else "<span></span>"
        for rel, (href, label) in (("prev", before), ("next", after))
    ]
    return f'<nav class="pager">{"".join(links)}</nav>'


def _pager_head(before: str | None, after: str | None) -> str:
    links = (("prev", before), ("next", after))
    return "".join(f'<link rel="{rel}" href="{href}">\n' for rel, href in links if href)


def _day(article: DemoArticle) -> str:
    day = article.published_on
    return f'<time datetime="{day.isoformat()}">{day:%d %B %Y}</time>'
