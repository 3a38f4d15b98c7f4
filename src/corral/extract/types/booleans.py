"""The type `boolean`: yes and no, true and false, in stock and sold out."""

from typing import Any

from corral.extract.types.characters import collapse_spaces, normalize_signs
from corral.extract.types.model import Converted, TypeContext, fail

_MAX_CHARS = 80
_YES = (
    "true|yes|y|on|1|✓|✔|✅|☑|ja|oui|si|sí|sì|sim|да|так|tak|ano|áno|igen|evet|kyllä|joo|jah|jā|taip|da|ναι|はい|"
    "有|是|예|네|نعم|כן|हाँ|हां|ใช่|có|ya|po|bəli|wahr|vrai|verdadero|verdadeiro|vero|waar|sant|sand|tosi|prawda|"
    "pravda|истина|правда|真|참|enabled|active|aktiv|activé|activo|ativo|attivo|actief|активен"
)
_NO = (
    "false|no|n|off|0|✗|✘|❌|☐|×|nein|non|não|нет|ні|nie|ne|nem|hayır|ei|nē|όχι|いいえ|無|无|否|아니요|아니오|لا|"
    "לא|नहीं|ไม่|ไม่ใช่|không|tidak|hindi|xeyr|nee|nej|nei|falsch|faux|falso|onwaar|falskt|falsk|epätosi|fałsz|"
    "nepravda|ложь|假|거짓|none|disabled|inactive|inaktiv|désactivé|inactivo|inativo|inattivo|inactief|неактивен"
)
_IN_STOCK = (
    "in stock|instock|available|available now|in store|on stock|limited availability|limitedavailability|"
    "onlineonly|auf lager|lieferbar|sofort lieferbar|verfügbar|vorrätig|en stock|disponible|disponibles|"
    "disponível|em estoque|em stock|disponibile|op voorraad|leverbaar|i lager|finns i lager|på lager|på lager nu|"
    "varastossa|saatavilla|dostępny|dostępne|w magazynie|skladem|na sklade|raktáron|készleten|în stoc|in stoc|"
    "в наличии|є в наявності|в наявності|налично|stokta|stokta var|mevcut|σε απόθεμα|διαθέσιμο|在庫あり|販売中|"
    "有货|有貨|现货|現貨|재고 있음|구매 가능|متوفر|متاح|במלאי|स्टॉक में|มีสินค้า|còn hàng|tersedia|na zalihi|"
    "na zalogi|laos"
)
_OUT_OF_STOCK = (
    "not in stock|no longer available|"
    "out of stock|outofstock|unavailable|not available|currently unavailable|sold out|soldout|discontinued|"
    "ausverkauft|nicht verfügbar|nicht lieferbar|nicht auf lager|vergriffen|derzeit nicht verfügbar|"
    "en rupture de stock|rupture de stock|épuisé|indisponible|non disponible|agotado|sin stock|no disponible|"
    "fuera de stock|esgotado|indisponível|fora de estoque|esaurito|non disponibile|uitverkocht|niet op voorraad|"
    "niet leverbaar|slut i lager|slutsåld|ej i lager|udsolgt|ikke på lager|utsolgt|loppuunmyyty|ei varastossa|"
    "niedostępny|wyprzedane|brak w magazynie|vyprodáno|není skladem|vypredané|elfogyott|nincs raktáron|"
    "stoc epuizat|indisponibil|нет в наличии|распродано|немає в наявності|изчерпан|tükendi|stokta yok|"
    "εξαντλημένο|μη διαθέσιμο|在庫なし|在庫切れ|売り切れ|品切れ|完売|缺货|缺貨|售罄|无货|無貨|품절|재고 없음|"
    "غير متوفر|نفد المخزون|נפד מהמלאי|אזל מהמלאי|स्टॉक में नहीं|สินค้าหมด|hết hàng|habis|stok habis|rasprodano|"
    "razprodano"
)
_TRUE = frozenset(f"{_YES}|{_IN_STOCK}".split("|"))
_FALSE = frozenset(f"{_NO}|{_OUT_OF_STOCK}".split("|"))


def convert_boolean(raw: Any, _context: TypeContext) -> Converted:
    if isinstance(raw, bool):
        return Converted(raw)
    if isinstance(raw, int | float):
        return Converted(bool(raw)) if raw in (0, 1) else fail("not_a_boolean")
    if not isinstance(raw, str) or len(raw) > _MAX_CHARS:
        return fail("not_a_boolean")
    # schema.org writes https://schema.org/InStock.
    text = collapse_spaces(normalize_signs(raw).replace("_", " ")).strip(" .!").rpartition("schema.org/")[2].casefold()
    text = text.replace("in-stock", "in stock")
    if text in _TRUE or text in _FALSE:
        return Converted(text in _TRUE)
    return _convert_beginning(text)


def _convert_beginning(text: str) -> Converted:
    """Decide by the first words, with lower confidence: `In stock (12)`, `Auf Lager, in 2 Tagen bei Ihnen`."""
    head = text
    for sign in ",;:(–—-.|0123456789":
        head = head.partition(sign)[0]
    head = head.strip()
    if len(head) >= 3 and head != text and (head in _TRUE or head in _FALSE):
        return Converted(head in _TRUE, 0.8)
    return _find_phrase(text)


def _find_phrase(text: str) -> Converted:
    """Find a phrase about stock anywhere, as in `Only 3 left in stock`.

    The negative phrases come first, because `not in stock` contains `in stock`.
    """
    for phrases, value in ((_OUT_OF_STOCK, False), (_IN_STOCK, True)):
        if any(f" {phrase} " in f" {text} " for phrase in phrases.split("|") if len(phrase) > 7):
            return Converted(value, 0.7)
    return fail("not_a_boolean")
