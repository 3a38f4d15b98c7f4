"""Read dates relative to the time of the page, such as `yesterday` or `vor 3 Stunden`, with dateparser.

The library takes 0.3 s to load and about 0.1 s for each language, so it is used last, and for short texts only.
"""

import re
from datetime import datetime

from corral.extract.types.locales import split_tag
from corral.extract.types.model import TypeContext

_MAX_CHARS = 60
_ALIASES = {"no": "nb", "nn": "nb", "iw": "he", "fil": "tl"}
# Units below a day: the result has a time.
_EXACT = re.compile(r"\d+\s?(?:h|m|s|min|sec|hr)")


def read_relative(text: str, context: TypeContext) -> tuple[datetime, str, bool] | None:
    """Return the moment, its period (`day`, `week`, `month`, `year`), and whether the text has a time."""
    if context.now is None or len(text) > _MAX_CHARS or not any(char.isalpha() for char in text):
        return None
    languages = _languages(context)
    moment, period = _parse(text, context.now, languages)
    if moment is None:
        return None
    moment = moment.replace(tzinfo=context.now.tzinfo)
    is_day = moment.timetz() == context.now.timetz() and period == "day" and not _EXACT.search(text)
    return moment, period, not is_day and period == "day"


def _languages(context: TypeContext) -> list[str]:
    language = split_tag(context.language)[0]
    code = _ALIASES.get(language, language)
    return [code, "en"] if code and code != "en" else ["en"]


def _parse(text: str, now: datetime, languages: list[str]) -> tuple[datetime | None, str]:
    from dateparser.date import DateDataParser  # noqa: PLC0415

    settings = {"RELATIVE_BASE": now.replace(tzinfo=None), "TIMEZONE": "UTC", "PARSERS": ["relative-time"]}
    try:
        found = DateDataParser(languages=languages, settings=settings).get_date_data(text)
    except ValueError:  # the library does not support the language
        if languages == ["en"]:
            return None, ""
        return _parse(text, now, ["en"])
    except (OverflowError, RecursionError):
        return None, ""
    return found.date_obj, found.period
