"""The profile of the data of a crawl, by URL pattern."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.fields.page_fields import PageFields
from corral.domain.fields.spec import FieldSpec
from corral.domain.quality.profile import Profile, ProfileBuilder
from corral.domain.quality.run_profile import ProfileKey, RunProfile
from corral.domain.runs.record import CRAWL_FIELDS
from corral.domain.verdicts.asked_fields import add_record

# Options that change how many records a crawl has, or which. The fields are not among them: a corrected field is
# compared with its history.
_OPTIONS = (
    *("start_urls", "scope", "max_depth", "max_pages", "max_bytes", "max_seconds", "max_per_host"),
    *("listing", "only_fields", "save_files", "obey_noindex"),
)
_PLAIN = ("title", "text")  # of a page without fields
# Only the first records of a crawl without fields are read: their texts are large.
MAX_PLAIN_RECORDS = 200


def profile_key_of_crawl(job_id: str | None, plan: CrawlPlan) -> ProfileKey:
    document = plan.document()
    shape = {name: document.get(name) for name in _OPTIONS}
    shape["patterns"] = [each["match"] for each in plan.page_fields]
    text = json.dumps(shape, sort_keys=True, default=str)
    return ProfileKey(job_id or "", hashlib.blake2b(text.encode(), digest_size=16).hexdigest())


class CrawlProfile:
    """Builds the profile of a crawl from its records."""

    def __init__(self, plan: CrawlPlan) -> None:
        self._fields = plan.field_specs
        self._patterns = tuple(PageFields.of(each) for each in plan.page_fields)
        self._has_plain = not plan.only_fields
        self._of_crawl = frozenset({"url"} if plan.only_fields else CRAWL_FIELDS)
        self._builders: dict[str, ProfileBuilder] = {"": ProfileBuilder()}
        self._records = 0

    @property
    def has_fields(self) -> bool:
        return bool(self._fields or self._patterns)

    @property
    def is_enough(self) -> bool:
        return not self.has_fields and self._records >= MAX_PLAIN_RECORDS

    def add(self, records: Iterable[Mapping[str, Any]]) -> None:
        for record in records:
            self._records += 1
            pattern, specs = self._choose(str(record.get("url", "")))
            builder = self._builders.setdefault(pattern, ProfileBuilder())
            if not specs and self._has_plain and "text" in record:
                builder.add(record, (), _PLAIN)
            elif any(spec.code is not None or spec.name in record for spec in specs):  # otherwise it is a saved file
                add_record(builder, record, specs, self._of_crawl)

    def finish(self, pages: int) -> RunProfile:
        """Return the profile. `pages` is the number of pages read; with fields, the records are counted instead."""
        if self.has_fields:
            return RunProfile({name: builder.finish() for name, builder in self._builders.items()})
        plain: Profile = self._builders[""].finish(pages)
        return RunProfile({"": plain})

    def _choose(self, url: str) -> tuple[str, tuple[FieldSpec, ...]]:
        for pattern in self._patterns:
            if pattern.matches(url):
                return pattern.match, pattern.add_to(self._fields)
        return "", self._fields
