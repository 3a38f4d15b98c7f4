"""Find dates as people write them in many languages, without parsing them."""

import re

_MONTHS = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mrz|mai|okt|dez|janv|févr|fév|avr|juin|juil|août|aoû"
    r"|déc|ene|abr|ago|dic|gen|mag|giu|lug|set|ott|fev|out|maa|mrt|mei"
    r"|maj|joul|tam|hel|huh|tou|kes|hei|elo|syy|lok|mar|sty|lut|kwi|cze|lip|sie|wrz|paź|lis|gru|led|úno|bře|dub|kvě"
    r"|čer|srp|zář|říj|pro|okt|máj|jún|júl|szept|márc|ápr|febr|ian|iun|iul|noi"
    r"|янв|фев|мар|апр|мая|май|июн|июл|авг|сен|окт|ноя|дек|січ|лют|бер|кві|тра|чер|лип|сер|вер|жов|лис|гру|ιαν|φεβ"
    r"|μαρ|απρ|μαΐ|μαϊ|ιουν|ιουλ|αυγ|σεπ|οκτ|νοε|δεκ|oca|şub|nis|haz|tem|ağu|eyl|eki|kas|ara"
    r"|يناير|فبراير|مارس|أبريل|ابريل|مايو|يونيو|يوليو|أغسطس|اغسطس|سبتمبر|أكتوبر|اكتوبر|نوفمبر|ديسمبر"
    r"|ב?(?:ינואר|פברואר|מרץ|אפריל|מאי|יוני|יולי|אוגוסט|ספטמבר|אוקטובר|נובמבר|דצמבר)|sij|velj|ožu|tra|svi|lip|srp"
    r"|kol|ruj|stu"
    r"|яну|юни|юли|ное|tháng|ژانویه|فوریه|जन|फ़र|फर|मार्च|अप्रैल|मई|जून|जुला|अगस्त|सित|अक्टू|नव|दिस)[^\W\d_]{0,9}"
)
_YEAR = r"(?:19|20)\d\d"
_TIME = r"(?:(?:,|\s+(?:at|um|à|a las|alle|às|om|kl\.?|o|v|в|о)|T)?\s*\d{1,2}[:.h]\d{2}(?::\d{2})?(?:\s?[ap]\.?m\.?)?)"
DATE = re.compile(
    rf"(?<![\w/.-])(?:{_YEAR}-\d{{2}}-\d{{2}}(?:[T ]\d{{2}}:\d{{2}}(?::\d{{2}})?(?:\.\d+)?(?:Z|[+-]\d{{2}}:?\d{{2}})?)?"
    rf"|{_YEAR}[./]\d{{1,2}}[./]\d{{1,2}}|\d{{1,2}}[./-]\d{{1,2}}[./-]{_YEAR}|\d{{1,2}}\. ?\d{{1,2}}\. ?{_YEAR}"
    rf"|\d{{1,2}}(?:st|nd|rd|th|er|º|ª|°)?\.?\s+(?:de\s+|of\s+|d[e']\s*)?{_MONTHS}\.?,?\s+(?:de[l]?\s+)?{_YEAR}"
    rf"|{_MONTHS}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+{_YEAR}|{_YEAR}\.?\s+{_MONTHS}\.?\s+\d{{1,2}}\.?"
    rf"|{_YEAR}\s?[年년]\s?\d{{1,2}}\s?[月월]\s?\d{{1,2}}\s?[日일])(?!\d)",
    re.IGNORECASE,
)


def find_date(text: str) -> str | None:
    match = DATE.search(text)
    return match[0].strip() if match is not None else None


def has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text)
