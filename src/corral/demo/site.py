"""The site as an ASGI application."""

from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from corral.demo import faults, gallery, pages
from corral.demo.assets import SHOP_JS, STYLE_CSS
from corral.demo.content import articles, articles_by_slug, products
from corral.demo.params import whole_number
from corral.demo.state import SESSION_COOKIE, CountRequests, SiteState, has_session, state_of

ARTICLES_PER_PAGE = 10
PRODUCTS_PER_PAGE = 12
DEMO_USER = "demo"
DEMO_PASSWORD = "demo"

_ROBOTS_TXT = "User-agent: *\nDisallow: /private\n\nSitemap: {base}sitemap.xml\n"


def create_site() -> Starlette:
    """Create a site with counters at zero and no signed-in user."""
    state = SiteState()
    site = Starlette(
        routes=[*_ROUTES, *gallery.ROUTES, *faults.ROUTES],
        middleware=[Middleware(CountRequests, state=state)],
        exception_handlers={HTTPException: _error_page},
    )
    site.router.redirect_slashes = False
    site.state.site = state
    return site


async def index(_request: Request) -> Response:
    return HTMLResponse(pages.index_page())


async def article_list(request: Request) -> Response:
    newest_first = articles()[::-1]
    page_count = -(-len(newest_first) // ARTICLES_PER_PAGE)
    page = whole_number(request, "page", default=1, low=1, high=1_000_000)
    page_articles = newest_first[(page - 1) * ARTICLES_PER_PAGE : page * ARTICLES_PER_PAGE]
    if not page_articles:
        raise HTTPException(404, f"There are {page_count} pages of articles.")
    return HTMLResponse(pages.article_list_page(page_articles, page, page_count))


async def article(request: Request) -> Response:
    current = articles_by_slug().get(request.path_params["slug"])
    if current is None:
        raise HTTPException(404, "There is no such article.")
    every = articles()
    before = every[current.number - 2] if current.number > 1 else None
    after = every[current.number] if current.number < len(every) else None
    url = f"{request.base_url}articles/{current.slug}"
    return HTMLResponse(pages.article_page(current, url, before, after))


async def shop(_request: Request) -> Response:
    return HTMLResponse(pages.shop_shell())


async def product_list(request: Request) -> Response:
    every = products()
    page_count = -(-len(every) // PRODUCTS_PER_PAGE)
    page = whole_number(request, "page", default=1, low=1, high=1_000_000)
    page_products = every[(page - 1) * PRODUCTS_PER_PAGE : page * PRODUCTS_PER_PAGE]
    return JSONResponse(
        {
            "page": page,
            "pages": page_count,
            "total": len(every),
            "items": [product.document() for product in page_products],
            "next": f"/api/products?page={page + 1}" if page < page_count else None,
        }
    )


async def product(request: Request) -> Response:
    number: int = request.path_params["number"]
    if not 1 <= number <= len(products()):
        return JSONResponse({"error": f"no product {number}"}, 404)
    return JSONResponse(products()[number - 1].document())


async def login(request: Request) -> Response:
    if request.method != "POST":
        return HTMLResponse(pages.login_page())
    form = parse_qs((await request.body()).decode("utf-8", "replace"))
    if form.get("username") != [DEMO_USER] or form.get("password") != [DEMO_PASSWORD]:
        return HTMLResponse(pages.login_page("Wrong user or password."), 401)
    answer = RedirectResponse("/account", 303)
    answer.set_cookie(SESSION_COOKIE, state_of(request).open_session(), httponly=True, samesite="lax")
    return answer


async def account(request: Request) -> Response:
    if has_session(request):
        return HTMLResponse(pages.account_page())
    # Many sites answer a login wall with 200, and a scraper has to recognise it.
    status = 401 if request.query_params.get("strict") == "1" else 200
    return HTMLResponse(pages.login_page(heading="Sign in to continue"), status)


async def logout(request: Request) -> Response:
    state_of(request).sessions.discard(request.cookies.get(SESSION_COOKIE, ""))
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(SESSION_COOKIE, httponly=True, samesite="lax")
    return answer


async def private(_request: Request) -> Response:
    return HTMLResponse(pages.notice_page("A secret", "robots.txt asked you not to come here."))


async def robots(request: Request) -> Response:
    return PlainTextResponse(_ROBOTS_TXT.format(base=request.base_url))


async def sitemap(request: Request) -> Response:
    paths = ["", "articles", "shop"]
    paths += [f"articles/{entry.slug}" for entry in articles()]
    paths += [f"shop/{entry.id}" for entry in products()]
    urls = [f"{request.base_url}{path}" for path in paths]
    return Response(pages.sitemap(urls), media_type="application/xml")


async def style(_request: Request) -> Response:
    return Response(STYLE_CSS, media_type="text/css")


async def shop_script(_request: Request) -> Response:
    return Response(SHOP_JS, media_type="text/javascript")


async def stats(request: Request) -> Response:
    counts = state_of(request).requests
    return JSONResponse({"total": counts.total(), "paths": dict(counts)})


async def clear(request: Request) -> Response:
    state_of(request).clear()
    return Response(status_code=204)


async def _error_page(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    page = pages.notice_page(f"Error {error.status_code}", error.detail)
    return HTMLResponse(page, error.status_code, error.headers)


_ROUTES = [
    Route("/", index),
    Route("/articles", article_list),
    Route("/articles/{slug}", article),
    Route("/shop", shop),
    Route("/shop/{number:int}", shop),
    Route("/api/products", product_list),
    Route("/api/products/{number:int}", product),
    Route("/login", login, methods=["GET", "POST"]),
    Route("/account", account),
    Route("/logout", logout),
    Route("/private/secret", private),
    Route("/robots.txt", robots),
    Route("/sitemap.xml", sitemap),
    Route("/static/style.css", style),
    Route("/static/shop.js", shop_script),
    Route("/_stats", stats),
    Route("/_reset", clear, methods=["POST"]),
]
