"""Availability and condition in the words of schema.org."""

import re

_TERMS = {
    term.lower(): term
    for term in [
        "InStock",
        "OutOfStock",
        "PreOrder",
        "PreSale",
        "BackOrder",
        "SoldOut",
        "Discontinued",
        "InStoreOnly",
        "OnlineOnly",
        "LimitedAvailability",
        "MadeToOrder",
        "Reserved",
    ]
}
_OPEN_GRAPH = {
    "instock": "InStock",
    "outofstock": "OutOfStock",
    "oos": "OutOfStock",
    "preorder": "PreOrder",
    "pending": "BackOrder",
    "availablefororder": "BackOrder",
    "available": "InStock",
    "unavailable": "OutOfStock",
    "discontinued": "Discontinued",
    "backorder": "BackOrder",
    "soldout": "SoldOut",
    "true": "InStock",
    "false": "OutOfStock",
    "yes": "InStock",
    "no": "OutOfStock",
}
# Phrases for "out of stock" often contain those for "in stock", so they come first.
_PHRASES: tuple[tuple[str, str], ...] = (
    (
        "OutOfStock",
        "out of stock|not in stock|not available|unavailable|currently unavailable|nicht (?:auf lager|vorrätig"
        "|verfügbar|lieferbar)"
        "|derzeit nicht|momentan nicht|rupture|indisponible|épuisé|non disponible|agotado|sin (?:stock|existencias)"
        "|no disponible"
        "|esaurito|non disponibile|esgotado|indisponível|sem estoque|uitverkocht|niet (?:op|meer) voorraad|niet"
        " leverbaar|slut i lager"
        "|slutsåld|ej i lager|ikke på lager|udsolgt|utsolgt|loppu|ei varastossa|brak w magazynie|niedostępny"
        "|niedostępne|wyprzedane"
        "|produkt niedostępny|vyprodáno|není skladem|nedostupné|elfogyott|nincs (?:készleten|raktáron)|nem elérhető"
        "|stoc epuizat|indisponibil"
        "|нет в наличии|отсутствует|закончился|немає в наявності|εξαντλημένο|μη διαθέσιμο|stokta yok|tükendi|غير"
        " متوفر|نفد|نفذت الكمية"
        "|在庫なし|在庫切れ|売り切れ|缺货|无货|售罄|缺貨|售完|품절|재고 ?없음"
        "|няма в наличност|изчерпан|nije dostupno|rasprodano|nie je skladom|vypredané|ni na zalogi|razprodano"
        "|išparduota"
        "|izpārdots|läbi müüdud|אזל|לא במלאי|ناموجود|उपलब्ध नहीं|สินค้าหมด|hết hàng|habis|stok kosong|esgotad[oa]"
        "|lager leer",
    ),
    ("SoldOut", "sold out|ausverkauft|complet\\b"),
    ("Discontinued", "discontinued|nicht mehr (?:lieferbar|erhältlich)|auslaufartikel"),
    (
        "PreOrder",
        "pre-?order|vorbestell|précommande|reserva anticipada|preventa|preordine|pré-venda|förhandsboka|forudbestil"
        "|ennakkotila|przedsprzedaż"
        "|předobjednávka|előrendel|precomandă|предзаказ|передзамовлення|ön sipariş|طلب مسبق|予約(?:受付|商品)|预购"
        "|预售|預購|예약",
    ),
    (
        "BackOrder",
        "back-?order|nachbestell|sur commande|bajo pedido|su ordinazione|sob encomenda|beställningsvara|na"
        " zamówienie|na objednávku|под заказ|取り寄せ",
    ),
    ("LimitedAvailability", "limited availability|begrenzt verfügbar"),
    (
        "InStock",
        "in stock|in-stock|available|ready to ship|ships (?:today|within|in)|auf lager|vorrätig|sofort lieferbar"
        "|lieferbar|verfügbar|en stock|disponible|disponibile"
        "|disponibilità immediata|disponível|em estoque|in stock|op voorraad|leverbaar|i lager|på lager|finns i"
        "|varastossa|saatavilla|w magazynie|dostępny|dostępne|na stanie"
        "|skladem|dostupné|raktáron|készleten|elérhető|în stoc|in stoc|disponibil|в наличии|есть в наличии|в"
        " наявності|є в наявності|σε απόθεμα|διαθέσιμο|stokta|mevcut"
        "|متوفر|متاح|在庫あり|在庫有|有货|现货|有貨|現貨|재고 ?있음|구매 ?가능"
        "|в наличност|налично|na zalihi|dostupno|na sklade|skladom|na zalogi|yra sandėlyje|turime|ir noliktavā"
        "|laos|במלאי|זמין"
        "|موجود|उपलब्ध|มีสินค้า|còn hàng|tersedia|ready stock|pronta entrega|à pronta entrega|em stock",
    ),
)
_PATTERNS = [(state, re.compile(words, re.IGNORECASE)) for state, words in _PHRASES]
_CONDITIONS = {
    "newcondition": "NewCondition",
    "usedcondition": "UsedCondition",
    "refurbishedcondition": "RefurbishedCondition",
    "damagedcondition": "DamagedCondition",
    "new": "NewCondition",
    "used": "UsedCondition",
    "refurbished": "RefurbishedCondition",
}


def availability_of(text: str) -> str | None:
    """Return the term of schema.org: InStock for `https://schema.org/InStock`, `in stock` and `Auf Lager`."""
    word = re.sub(r"[\W_]+", "", text.rstrip("/").rpartition("/")[2]).lower()
    found = _TERMS.get(word) or _OPEN_GRAPH.get(word)
    if found is not None:
        return found
    return next((state for state, pattern in _PATTERNS if pattern.search(text)), None)


def condition_of(text: str) -> str:
    """Return the term of schema.org if the text is one, else the text itself."""
    word = text.rstrip("/").rpartition("/")[2].lower()
    return _CONDITIONS.get(word, text)
