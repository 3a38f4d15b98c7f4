"""Sentences that identify block pages, login forms and dead ends: whole sentences, never single words."""

import re

from ahocorasick_rs import AhoCorasick, MatchKind

_MAX_TITLE_CHARS = 300
_BETWEEN = re.compile(r"\s[|\-–—·•»]\s|\|")
_EDGES = " \t\r\n.…!?:;,\"'“”‘’«»()[]*-–—"


def _whole(*sentences: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{sentence})" for sentence in sentences))


# Titles that no content page has.
CHALLENGE_TITLE = _whole(
    r"just a moment|attention required|pardon our interruption|robot check|robot or human|challenge validation",
    r"checking your browser.{0,60}|ddos-guard|ddos protection.{0,40}|vercel security checkpoint",
    r"making sure you're not a bot|sucuri website firewall|(?:error: ?)?the request could not be satisfied",
    r"access to this (?:page|site|website) (?:is|was|has been) (?:denied|blocked|restricted)",
    r"(?:please )?verify(?:ing)? (?:that )?you(?: are|'re) (?:a )?human.{0,40}",
    # Cloudflare in other languages.
    r"nur einen moment|een moment geduld|один момент|请稍候|しばらくお待ちください",
)
# Titles that a film, a song or a chapter of a manual may have, too.
BLOCK_TITLE = _whole(
    r"one moment,? please|please wait(?: while we (?:verify|check).{0,60})?|un instant|un momento|um momento",
    r"(?:error )?(?:403 )?access (?:is |was |has been )?(?:denied|restricted|blocked)(?: 403)?",
    r"(?:error )?403(?: error)?(?: - )?(?: ?forbidden)?|forbidden|request rejected|error 10\d\d|too many requests",
    r"(?:sorry, )?you (?:have been|are|were) blocked|blocked|ip (?:address )?(?:blocked|banned)",
    r"are you (?:a )?(?:robot|human|bot)|bot (?:check|verification|detected)|unusual traffic(?: detected)?|captcha",
    r"(?:human|security) (?:verification|check|checkpoint|challenge)",
    r"accès refusé|zugriff verweigert|acceso denegado|acesso negado|accesso negato",
    r"доступ (?:запрещен|запрещён|ограничен)",
)
BLOCK_PHRASES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:unusual|suspicious|automated) (?:traffic|activity|requests?|queries|access|behaviou?r)",
        r"(?:verify|confirm|prove|make sure|check)(?:ing)? (?:that )?you(?: are|'re) (?:a |not a )?(?:human|robot|bot)",
        r"(?:i am|i'm|you're|you are) not a (?:robot|bot)",
        r"checking (?:your browser|if the site connection is secure)",
        r"(?:you|(?:your|this) [a-z ]{2,20}) (?:have been|has been|are|is|were|was) "
        r"(?:temporarily |permanently )?(?:blocked|banned)|have i been blocked",
        r"access (?:to (?:this|the) [a-z ]{0,30})?(?:is|was|has been) (?:denied|blocked|restricted)",
        r"you (?:don't|do not) have permission to (?:access|view)",
        r"enable (?:javascript and cookies|cookies and javascript|cookies) to (?:continue|proceed)",
        r"(?:complete|solve|passing|pass) the (?:security (?:check|challenge)|captcha|challenge|puzzle)",
        r"(?:enter|type) the (?:characters|letters|text|code) (?:you see|shown|from|in|below)",
        r"incapsula incident id|reference #\d|(?:cloudflare )?ray id|incident id|support id is",
        r"press (?:&|and) hold",
        r"security (?:service|solution) to protect (?:itself|against)",
        r"blocked by (?:our|the|a) [a-z ]{0,30}(?:firewall|waf)",
    )
)
LOGIN_TITLE = _whole(
    r"(?:please )?(?:log ?in|sign ?in|log ?on|sign ?on)(?: (?:to|with|or|and|required|page|form|here)\b.{0,60})?",
    r"(?:member|user|account|customer|admin) (?:log ?in|sign ?in)|(?:login|authentication|authorization) required",
    r"connexion|se connecter|s'identifier|anmelden|einloggen|iniciar sesión|entrar|accedi|inloggen|logga in",
    r"вход|войти|авторизация|登录|登入|ログイン|로그인",
)
LOGIN_PHRASE = re.compile(
    r"(?:please |must |need to |have to )(?:be )?(?:log(?:ged)?[ -]?in|sign(?:ed)?[ -]?in)"
    r"|(?:log|sign) ?in (?:or [a-z ]{1,20} )?to (?:continue|view|see|access|read|proceed|your account)"
    r"|(?:login|authentication|membership) (?:is )?required|session (?:has )?expired"
)
GONE = _whole(
    r"(?:error |http )?404(?: error)?(?: page)?(?:[ :–-]{1,3}(?:page |file )?not found)?",
    r"(?:sorry,? |oops,? |error:? )?(?:the |this |that )?(?:page|product|item|article|content|file|url|resource|listing"
    r"|post|document|job|position|vacancy|advert|event)(?: you.{0,40})? (?:was |is |has )?"
    r"(?:not found|not available|unavailable|missing|(?:could ?n[o']t|cannot|can't|can not) be found"
    r"|doesn't exist|does not exist|no longer (?:available|exists?)|been (?:removed|deleted))",
    r"(?:sorry,? )?we (?:can't|cannot|couldn't|could not) find (?:that|this|the) page.{0,40}",
    r"page (?:introuvable|non trouvée)|seite nicht gefunden|página no encontrada|página não encontrada",
    r"pagina non trovata|pagina niet gevonden|страница не найдена",
    r"页面不存在|找不到页面|ページが見つかりません(?:でした)?",
)
GONE_BARE = _whole(r"(?:error )?not found")
# All title patterns in one, to rule out nearly every title with a single match.
ODD_TITLE = _whole(*(each.pattern for each in (CHALLENGE_TITLE, BLOCK_TITLE, LOGIN_TITLE, GONE, GONE_BARE)))
# Every odd title contains one of these. Searching for all of them takes a tenth of the time of ODD_TITLE.
_STEMS = (
    "moment attention pardon robot challenge checking ddos vercel bot firewall satisfied denied blocked restricted "
    "human wait instant 403 forbidden rejected error requests banned traffic captcha security refusé verweigert "
    "denegado negado negato доступ log sign required connexion connecter identifier anmelden einloggen sesión entrar "
    "accedi inloggen вход войти авторизация 登 ログイン 로그인 404 found available missing exist removed deleted find "
    "introuvable trouvée gefunden encontrada trovata gevonden найдена 不存在 找不到 見つかり 请稍候 しばらく момент"
)
_ODD = AhoCorasick(_STEMS.split(), matchkind=MatchKind.LeftmostFirst)
GONE_PHRASE = re.compile(
    r"(?:page|url|product|item|article|listing|address|link|content) (?:that )?(?:you (?:are|were|have|'re)|you)"
    r" (?:looking for|requested|tried|trying|followed|entered|asked)"
    r"|requested (?:url|page|resource|document) (?:\S{1,80} )?(?:was|could|can|is|does)(?: ?not|n't)"
    r"|(?:no longer|not|isn't) (?:available|exists?) (?:on|here|any)|(?:does not|doesn't|no longer) exists?"
    r"|(?:has|have) been (?:removed|deleted|moved)"
    r"|(?:could ?n[o']t|cannot|can't) (?:be found|find (?:the|that|this) page)"
)
SUBMIT_LOGIN = _whole(
    r"(?:log ?in|sign ?in|log ?on|sign me in|log me in|enter)(?: .{0,20})?",
    r"connexion|se connecter|anmelden|einloggen|iniciar sesión|entrar|accedi|inloggen|войти|вход|登录|ログイン|로그인",
)
PRICE = re.compile(r"[$€£¥₽₹]\s?\d|\d\s?(?:€|£|zł|kr|руб|₽|usd|eur|gbp)\b")


def plain_text(text: str) -> str:
    """Return the text in the form of the patterns: lower case, straight apostrophes, single spaces."""
    return " ".join(text.replace("’", "'").casefold().split())


def says(pattern: re.Pattern[str], text: str | None) -> bool:
    """Return whether the pattern matches the whole title, or a whole part of it between bars and dashes."""
    return any(pattern.fullmatch(part) for part in _parts(text[:_MAX_TITLE_CHARS])) if text else False


def is_odd(title: str | None) -> bool:
    """Return whether a title matches any of the title patterns; nearly no title does."""
    if not title or not _ODD.find_matches_as_indexes(plain_text(title[:_MAX_TITLE_CHARS])):
        return False
    return says(ODD_TITLE, title)


def _parts(text: str) -> tuple[str, ...]:
    whole = plain_text(text)
    return tuple(dict.fromkeys(part.strip(_EDGES) for part in (whole, *_BETWEEN.split(whole))))
