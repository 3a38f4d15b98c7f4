"""Guess prices, ratings and stock of a product page without structured data."""

import re

from selectolax.lexbor import LexborNode

from corral.extract.names.guesses.elements import NOTHING, Guess, PageElements, describe
from corral.extract.names.guesses.zones import is_beside, is_old_price
from corral.extract.names.words.money import find_money
from corral.extract.names.words.states import availability_of

_PRICE_NODES = (
    "#priceblock_ourprice, #priceblock_dealprice, .a-price .a-offscreen, #prcIsum, .x-price-primary,"
    " [data-price-type='finalPrice'], [data-testid*='price' i]",
    ".price ins, .current-price, .price-current, .price--current, .sale-price, .special-price, .final-price,"
    " .product-price, .product__price, .price-item--sale, .our_price_display, .product-detail-price, .price-now,"
    " .now",
    "#price, .price, .preis, .prix, .precio, .prezzo, .preco, .prijs, .pris, .cena, #preis, .price_color",
    "[class*='price'], [class*='Price'], [id*='price'], [class*='preis'], [class*='prix'], [class*='precio'],"
    " [class*='cena']",
)
_MAX_PRICE_CHARS = 40
_RATING = re.compile(
    r"(?<![\d.,])(\d(?:[.,]\d{1,2})?|10(?:[.,]0)?)\s*(?:★|⭐|/|out\s+of|of|von|sur|de|su|van|av|af|z|ze|na|iz|od"
    r"|din|dari|trên|מתוך|จาก|из|з|/"
    r"|üzerinden|من|\s)*\s*(?:5|10)(?:[.,]0)?(?!\d)(?:\s*(?:stars?|sterne(?:n)?|étoiles?|estrellas|stelle|estrelas"
    r"|sterren|stjärnor|stjerner|gwiazdek|hvězd\w*|звезд|yıldız))?",
    re.IGNORECASE,
)
_RATING_LAST = re.compile(r"(?:5つ星のうち|5点満点中|满分5分|5점 만점에)\s*(\d(?:[.,]\d{1,2})?)")
_RATING_STARS = re.compile(r"[★⭐☆✩]{1,5}\s*(\d[.,]\d{1,2})|(?<![\d.,])(\d[.,]\d{1,2})\s*[★⭐]")
_OTHER_AMOUNT = re.compile(
    r"\s*(?:\+|zzgl|plus\b|versand|liefer|shipping|delivery|postage|livraison|frais|env[ií]o|gastos|spedizion|frete"
    r"|verzend|frakt|fragt"
    r"|dostaw|doprav|доставк|送料|运费|運費|kargo|배송|uvp|statt|rrp|msrp|was\b|save|spar|instead|ancien|antes|prima"
    r"|tax|mwst)",
    re.IGNORECASE,
)
# An amount that the word before it marks as another price: `statt 99 €`, `RRP £20`.
_OLD_AMOUNT = re.compile(
    r"(?<!\w)(?:uvp|upe|neupreis|statt|bisher|ehem(?:als|\.)?|vorher|rrp|msrp|list price|was|before|instead of"
    r"|reg(?:ular|\.)?"
    r"|au lieu de|avant|prix conseillé|antes|en lugar de|invece di|anziché|prima|de|van|adviesprijs|ord\.? ?pris"
    r"|tidligere"
    r"|ennen|zamiast|původně|korábban|helyett|было|вместо|eski|بدلا من|بدلاً من|كان|定価|通常価格|参考価格|原价"
    r"|原價|정가)"
    r"(?:\s*(?:ehem\.?|price|preis|prix|:|：))*\s*[^\d\s]{0,4}\s?\d[\d.,'’\u00a0\u202f ]*(?:\s?(?:€|£|\$|[A-Z]{3}"
    r"|kr|zł|円|元|₽|₺|.–))?",
    re.IGNORECASE,
)
_MAX_TEXTS_TO_LONE_PRICE = 6
_MAX_CHARS_BESIDE_LONE_PRICE = 3
_REVIEWS = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:[.,\u00a0\u202f ]\d{3})+|\d+)\s*(?:(?:customer|global|verified|user|product|Kunden"
    r"|Produkt|vélemény|klant)[-\s]?)?(?:reviews?|ratings?|(?:sterne)?bewertung(?:en)?|rezension(?:en)?|avis"
    r"|évaluations?"
    r"|opini(?:ón|ones|oni|on|e|i)|reseñas?|valoraci(?:ón|ones)|recension[ei]|valutazioni|avaliações|beoordelingen"
    r"|recensies|omdömen|recensioner|betyg|anmeldelser|arvostelua?|recenz[eií]|hodnocení|értékelés|vélemény|recenzii"
    r"|отзыв(?:а|ов)?|оцен(?:ка|ки|ок)|відгук(?:и|ів)?|κριτικές|yorum|değerlendirme|تقييم(?:ات)?|مراجعة|(?:件"
    r"|個)の(?:レビュー|評価)|件の(?:レビュー|評価)"
    r"|レビュー|条评论|則評論|리뷰)",
    re.IGNORECASE,
)
_COMMENTS = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:[.,]\d{3})+|\d+)\s*(?:comments?|kommentare?|commentaires?|comentarios?|commenti"
    r"|comentários?|reacties|kommentarer|kommenttia|komentarz\w*|komentář\w*|hozzászólás|коммента\w*|replies"
    r"|antworten|respuestas|réponses|件のコメント|条评论|评论)",
    re.I,
)
_STOCK_NODES = (
    "#availability, #stock, .availability, .stock, .stock-status, .product-stock, .delivery-status, [class*='availab'],"
    " [class*='stock'], [class*='lager'], [class*='verfueg'], [class*='delivery-information'], [class*='dispon']"
)


def guess_price(elements: PageElements) -> Guess:
    for selector in _PRICE_NODES:
        for node in elements.visible(selector):
            if is_old_price(node) or elements.is_in_list(node):
                continue
            amount = _current_price(elements, node)
            if amount:
                return [amount], describe(selector, node)
    return _price_in_text(elements)


def _price_in_text(elements: PageElements) -> Guess:
    """Find a price near the heading: in any short text if something can be bought, else only an amount alone."""
    for text in elements.texts_after_heading(60 if elements.sells else _MAX_TEXTS_TO_LONE_PRICE):
        amounts = find_money(text) if len(text) <= 80 and not _OTHER_AMOUNT.match(text) else []
        if amounts and (elements.sells or len(text) - len(amounts[0]) <= _MAX_CHARS_BESIDE_LONE_PRICE):
            return amounts[:1], "text"
    return NOTHING


def _current_price(elements: PageElements, node: LexborNode) -> str | None:
    """Return the price in an element, without prices that are struck through inside it."""
    text = elements.page.text_of(node) or ""
    if len(text) > 200:
        return None
    for inner in node.css(
        "del, s, strike, .old-price, .was, .compare-at-price, [class*='old'], [class*='was'], [class*='strike'],"
        " [class*='compare']"
    ):
        text = text.replace(elements.page.text_of(inner) or "\0", " ", 1) if inner.mem_id != node.mem_id else text
    offscreen = node.css_first(".a-offscreen")
    if offscreen is not None:
        text = elements.page.text_of(offscreen) or text
    amounts = find_money(_OLD_AMOUNT.sub(" ", text)) or find_money(text)
    if amounts:
        return amounts[0]
    bare = re.sub(r"\s+", "", text)
    if re.fullmatch(r"\d[\d.,'’]*[.,]\d{2}|\d{1,7}", bare) is None:
        return None
    # The currency sign may be beside the element of the number.
    around = elements.page.text_of(node.parent) or ""
    return next(iter(find_money(around)), text) if len(around) <= _MAX_PRICE_CHARS else text


def guess_rating(elements: PageElements) -> Guess:
    for node in elements.page.tree.css(
        "[class*='rating'], [class*='star'], [class*='Rating'], [class*='review'], [class*='bewertung'],"
        " [aria-label], [title]"
    )[:300]:
        if is_beside(node) or elements.is_in_list(node):
            continue
        attributes = node.attributes
        for text in (
            attributes.get("aria-label"),
            attributes.get("title"),
            attributes.get("data-rating"),
            elements.page.text_of(node),
        ):
            match = _search_rating(text) if text and len(text) <= 120 else None
            if match is not None:
                return [match[match.lastindex or 1]], "text"
        if attributes.get("data-rating") and re.fullmatch(r"\d(?:[.,]\d+)?", attributes["data-rating"] or ""):
            return [attributes["data-rating"] or ""], "data-rating"
    return NOTHING


def _search_rating(text: str) -> re.Match[str] | None:
    return _RATING_LAST.search(text) or _RATING.search(text) or _RATING_STARS.search(text)


def guess_review_count(elements: PageElements) -> Guess:
    for node in elements.page.tree.css(
        "[class*='rating'], [class*='review'], [class*='Review'], [class*='bewert'], a[href*='review'],"
        " a[href*='bewert'], [class*='avis'], [class*='star']"
    )[:200]:
        text = elements.page.text_of(node) or ""
        # Remove the rating first: `4.2 of 5 128 reviews` has 128 reviews.
        match = _REVIEWS.search(_RATING.sub(" ", text)) if len(text) <= 160 else None
        if match is not None and not is_beside(node):
            return [match[1]], "text"
    for text in elements.texts_after_heading(60):
        match = _REVIEWS.search(text) if len(text) <= 60 else None
        if match is not None:
            return [match[1]], "text"
    return NOTHING


def guess_comments_count(elements: PageElements) -> Guess:
    for node in elements.page.tree.css(
        "[class*='comment'], [id*='comment'], [class*='repl'], a[href*='comment'], [class*='kommentar']"
    )[:100]:
        text = elements.page.text_of(node) or ""
        match = _COMMENTS.search(text) if len(text) <= 80 else None
        if match is not None:
            return [match[1]], "text"
    return NOTHING


def guess_availability(elements: PageElements) -> Guess:
    for node in elements.visible(_STOCK_NODES):
        text = elements.page.text_of(node) or ""
        state = availability_of(text) if 0 < len(text) <= 120 and not elements.is_in_list(node) else None
        if state:
            return [state], describe(_STOCK_NODES, node)
    if elements.sells:
        for text in elements.texts_after_heading(80):
            state = availability_of(text) if len(text) <= 60 else None
            if state:
                return [state], "text"
    return NOTHING
