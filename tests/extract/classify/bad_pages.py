"""Helpers of the tests of verdict bad, shared with other tests."""

import pytest

from corral.extract.classify.page_classifier import PageClass
from tests.extract.pages.builders import FOOTER, MENU, answer, html, read_page

LOGIN_FORM = "<form><input name=u><input type=password name=p><button>Log in</button></form>"


LOGIN_URL = "https://shop.example/account/login?next=%2Fthings%2F42"


BLOCKS = {
    "recorded challenge": answer(read_page("challenge")),
    "recorded challenge with 503": answer(read_page("challenge"), status=503, server="cloudflare"),
    "recorded firewall": answer(read_page("firewall"), status=403),
    "recorded firewall with 200": answer(read_page("firewall")),
    "Akamai": answer(
        html(
            "Access Denied",
            '<h1>Access Denied</h1>You don\'t have permission to access "http://shop.example/" on this server.'
            "<p>Reference #18.0 https://errors.edgesuite.net/18.0</p>",
        ),
    ),
    "Imperva, an iframe": answer(
        '<html><head><meta name="robots" content="noindex"></head><body>'
        '<iframe src="/_Incapsula_Resource?CWUDNSAI=9&incident_id=0">Request unsuccessful.</iframe></body></html>'
    ),
    "Imperva, a script and nothing": answer(
        '<html><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW">'
        '<script src="/_Incapsula_Resource?SWJIYLWA=0"></script></head><body></body></html>'
    ),
    "AWS, a header": answer("<html><body><script></script></body></html>", status=202, x_amzn_waf_action="challenge"),
    "a header with JSON": answer("{}", content_type="application/json", cf_mitigated="challenge"),
    "an HTML challenge from an API": answer(read_page("challenge"), content_type="application/json"),
    "CloudFront": answer(
        html(
            "ERROR: The request could not be satisfied",
            "<h1>403 ERROR</h1><p>The request could not be satisfied. Request blocked. Your request was blocked by the "
            "content firewall.</p>",
        ),
        status=403,
    ),
    "proof of work": answer(
        html(
            "Making sure you&#39;re not a bot!",
            "<h1>Making sure you're not a bot!</h1><p>Loading...</p><script id=anubis_challenge>{}</script>",
        )
    ),
    "own words, with menus": answer(
        html(
            "Access restricted | Shop",
            f"{MENU}<main><h1>Access restricted</h1><p>Your address has been blocked because of suspicious activity."
            f"</p></main>{FOOTER}",
        )
    ),
    "a title and an apology": answer(html("Pardon Our Interruption", "<p>Something made us think you were a bot.</p>")),
    "in French": answer(html("Un instant…", "<p>Vérification</p><div id=challenge-running></div>")),
    "refreshing into a gate": answer('<meta http-equiv=refresh content="0;/.well-known/sgcaptcha/?r=%2F">', status=202),
    "plain words": answer("error code: 1020", content_type="text/plain; charset=UTF-8"),
    "JSON words": answer('{"error": "Access denied."}', content_type="application/json"),
    "JSON of a vendor": answer('{"appId": "PX0", "jsClientSrc": "/x.js"}', content_type="application/json", status=403),
}


CAPTCHAS = {
    "recorded gate": answer(read_page("captcha_gate")),
    "bent letters": answer(
        html(
            "Robot Check",
            "<form action=/errors/validateCaptcha><h4>Enter the characters you see below</h4>"
            "<img src=https://img.example/captcha/1.jpg><input id=captchacharacters name=field-keywords></form>",
        )
    ),
    "press and hold": answer(
        html("Access to this page has been denied", "<p>Press & Hold to confirm you are a human</p><div id=px-captcha>")
    ),
    "a frame": answer(
        html(
            "shop.example",
            '<p>Please enable JS</p><iframe src="https://geo.captcha-delivery.com/captcha/?cid=0"></iframe>'
            '<script src="https://ct.captcha-delivery.com/c.js"></script>',
        ),
        status=403,
    ),
    "turnstile alone": answer(html("shop.example", '<div class="cf-turnstile" data-sitekey=0></div>')),
    "hcaptcha alone": answer(html("One more step", "<h1>Prove it</h1><form><div class=h-captcha></div></form>")),
    "a header": answer("<html></html>", status=405, x_amzn_waf_action="captcha"),
    "slider": answer(html("Verifying you are human", "<div id=captcha-box></div><p>Complete the security check.</p>")),
    "JSON": answer('{"url":"https://geo.captcha-delivery.com/captcha/?a=1"}', content_type="application/json"),
}


LOGIN_WALLS = {
    "recorded, redirected": answer(read_page("login_wall"), url="https://shop.example/authwall?to=%2Fthings%2F42"),
    "recorded, in place": answer(read_page("login_wall")),
    "without a title": answer(f"<body>{LOGIN_FORM}</body>", url=LOGIN_URL),
    "in place, with chrome": answer(html("Sign in to continue", f"{MENU}<main>{LOGIN_FORM}</main>{FOOTER}")),
    "name first, password later": answer(
        html("Sign in - Accounts", "<form><input type=email></form>"), url="https://accounts.example/v3/signin/id?c=1"
    ),
    "old portal": answer(html("Member login", f"<p>You must be logged in to view this page.</p>{LOGIN_FORM}")),
    "in German": answer(html("Anmelden", f"{LOGIN_FORM}"), url="https://shop.example/login.php"),
    "JSON": answer('{"detail": "Authentication credentials were not provided."}', content_type="application/json"),
}


SOFT_404S = {
    "recorded": answer(read_page("soft_404")),
    "bare": answer(html("Not Found", "<h1>Not Found</h1><p>The requested URL was not found on this server.</p>")),
    "number": answer(html("404", "<h1>404</h1><p>This page does not exist.</p>")),
    "sent to an error address": answer(html("Shop", "<h1>Page not found</h1>"), url="https://shop.example/404.html"),
    "product, with others beside": answer(
        html(
            "Product not found | Shop",
            f"{MENU}<h1>Product not found</h1><p>This product is no longer available on our site.</p>"
            + "".join(f"<a href=/p/{n}><img src=/p/{n}.jpg> Thing {n}</a>" for n in range(40)),
        )
    ),
    "an advert that has run out": answer(html("Job no longer available", "<h1>Sorry, this job has been removed</h1>")),
    "in Russian": answer(html("Страница не найдена", "<h1>Страница не найдена</h1>")),
    "plain words": answer("404 page not found", content_type="text/plain"),
    "JSON": answer('{"message": "Not Found", "code": 5}', content_type="application/json"),
}


SHELLS = {
    "recorded": answer(read_page("shell")),
    "no known marks": answer(html("Shop", "<div id=mount></div><script src=/bundle.js></script>")),
    "not a byte": answer(""),
    "sends on": answer('<html><head><meta http-equiv="refresh" content="0; url=/next"></head><body></body></html>'),
    "loading": answer(html("Shop", "<div id=app><p>Loading…</p></div><script>webpackChunk=[]</script>")),
    "marks far down": answer(html("Shop", f"<!--{'x' * 300_000}--><div id=__next></div>")),
}


CASES = [
    pytest.param(kind, page, id=f"{kind}: {name}")
    for kind, pages in {
        PageClass.BLOCK: BLOCKS,
        PageClass.CAPTCHA: CAPTCHAS,
        PageClass.LOGIN_WALL: LOGIN_WALLS,
        PageClass.SOFT_404: SOFT_404S,
        PageClass.EMPTY_SHELL: SHELLS,
    }.items()
    for name, page in pages.items()
]
