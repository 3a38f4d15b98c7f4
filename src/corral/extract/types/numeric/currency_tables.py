"""Tables of currencies: their symbols and words, and the marks that mean money in any text."""

# Symbols of one currency. Symbols that contain letters match whole words only.
_SYMBOL_TABLE = """
€=EUR £=GBP ₹=INR ₽=RUB ₴=UAH ₺=TRY ₩=KRW ₫=VND ฿=THB ₪=ILS ₱=PHP ₦=NGN ₸=KZT ₼=AZN ₾=GEL ֏=AMD ₮=MNT
₭=LAK ৳=BDT ₡=CRC ₲=PYG ₵=GHS ﷼=IRR ₿=BTC 円=JPY 원=KRW ₠=EUR US$=USD U$S=USD R$=BRL A$=AUD AU$=AUD C$=CAD
CA$=CAD NZ$=NZD HK$=HKD S$=SGD SG$=SGD NT$=TWD MX$=MXN AR$=ARS CL$=CLP J$=JMD RM=MYR Rp=IDR zł=PLN zl=PLN
Kč=CZK Kc=CZK Ft=HUF лв=BGN TL=TRY Fr=CHF SFr=CHF SFR=CHF kn=HRK KSh=KES Ksh=KES TSh=TZS USh=UGX S/=PEN
B/.=PAB руб=RUB р=RUB Dhs=AED ₴.=UAH грн=UAH ден=MKD дин=RSD din=RSD тг=KZT сум=UZS đ=VND บาท=THB ש״ח=ILS ש"ח=ILS
Tk=BDT د.إ=AED ر.س=SAR ج.م=EGP د.ك=KWD ر.ق=QAR د.ب=BHD د.م=MAD ر.ع=OMR درهم=AED جنيه=EGP Ls=LVL Lt=LTL
DM=DEM 人民币=CNY 人民幣=CNY 港元=HKD 港幣=HKD 美元=USD ドル=USD ユーロ=EUR 欧元=EUR 달러=USD
"""
SYMBOLS = dict(entry.split("=") for entry in _SYMBOL_TABLE.split())
# A code and the words for it on each line.
_WORD_TABLE = """
EUR euro euros eur евро евра євро ευρώ يورو eura eiro eurot
JPY yen yens
CNY yuan rmb renminbi
CHF franken sfr chf
PLN zloty złoty złotych złote
RUB рублей рубля рубль рубли
UAH гривень гривня гривні
HUF forint
BRL real reais
TRY lira lirası
THB baht
USD usd
GBP gbp
SEK sek
NOK nok
DKK dkk
PLN pln
CZK czk
INR inr
"""
WORDS = {word: code for code, *words in map(str.split, _WORD_TABLE.strip().splitlines()) for word in words}
_DOLLARS = "USD CAD AUD NZD SGD HKD TWD MXN ARS CLP COP UYU BSD BBD BZD FJD JMD NAD TTD XCD"
# Symbols and words of several currencies: the default, and the currencies they may stand for.
SHARED: dict[str, tuple[str | None, frozenset[str]]] = {
    "$": ("USD", frozenset(_DOLLARS.split())),
    "¥": ("JPY", frozenset({"JPY", "CNY"})),
    "￥": ("JPY", frozenset({"JPY", "CNY"})),
    "元": ("CNY", frozenset({"CNY", "TWD", "HKD", "MOP"})),
    "圓": ("TWD", frozenset({"TWD", "HKD", "MOP"})),
    "Rs": ("INR", frozenset({"INR", "PKR", "LKR", "NPR", "MUR"})),
    "₨": ("PKR", frozenset({"PKR", "LKR", "NPR", "MUR", "INR"})),
    "kr": (None, frozenset({"SEK", "NOK", "DKK", "ISK"})),
    "DH": ("MAD", frozenset({"MAD", "AED"})),
    "lei": ("RON", frozenset({"RON", "MDL"})),
    "R": ("ZAR", frozenset({"ZAR"})),
    "Bs": ("BOB", frozenset({"BOB", "VES"})),
    "ريال": ("SAR", frozenset({"SAR", "QAR", "OMR", "YER"})),
    "دينار": (None, frozenset({"KWD", "BHD", "JOD", "IQD", "TND", "LYD", "DZD"})),
    "rupees": ("INR", frozenset({"INR", "PKR", "LKR", "NPR"})),
    "pesos": (None, frozenset({"MXN", "ARS", "CLP", "COP", "PHP", "UYU"})),
}
SHARED_WORDS = {
    **dict.fromkeys(("dollar", "dollars", "dólares", "dólar", "dollari"), "$"),
    **dict.fromkeys(("pound", "pounds"), "£"),
    **dict.fromkeys(("kronor", "kroner", "kronen", "krónur", "kr", "kr."), "kr"),
    **dict.fromkeys(("rupee", "rupees"), "rupees"),
    **dict.fromkeys(("peso", "pesos"), "pesos"),
    **dict.fromkeys(("lei", "leu", "ron"), "lei"),
    **dict.fromkeys(("rs",), "Rs"),
    **dict.fromkeys(("bs",), "Bs"),
}
# Codes that are words too: `TOP 10`, `ALL 3`.
_WORD_CODES = "ALL AMD ANG BAM BOB COP CUP GEL LAK MAD MOP PEN SOS TOP TRY"
WORDLIKE_CODES = frozenset(_WORD_CODES.split())

# Symbols and short words that mean money in any text, the longer before those they contain.
_TEXT_MARKS = """
    US$ NT$ HK$ AU$ CA$ NZ$ MX$ A$ C$ S$ R$ € £ ₹ ₽ ₺ ₩ ₴ ₪ ₫ ฿ ₱ ₦ ₸ ￥ ¥ $ 円 元 원 zł zl Kč Ft lei руб грн лв дин
    TL kr Fr SFr Rs د.إ ر.س ريال درهم ج.م جنيه Euro euros RM Rp ₡ S/
"""
TEXT_MARKS = tuple(_TEXT_MARKS.split())
# Codes that mean money in any text; other codes are words or rare.
_TEXT_CODES = """
    AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HRK HUF IDR ILS INR ISK JPY KRW KZT MAD MXN
    MYR NGN NOK NZD PEN PHP PLN RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR
"""
TEXT_CODES = tuple(_TEXT_CODES.split())
