"""The run kinds. To add one, write its module in this package and list its `KindSpec` here."""

from corral.domain.errors import BadInput
from corral.engine.worker.kinds.alert import ALERT_KIND
from corral.engine.worker.kinds.crawl.kind import CRAWL_HELPER_KIND, CRAWL_KIND
from corral.engine.worker.kinds.dataset import DATASET_KIND
from corral.engine.worker.kinds.drain import DRAIN_KIND
from corral.engine.worker.kinds.export import EXPORT_KIND
from corral.engine.worker.kinds.page import PAGE_KIND
from corral.engine.worker.kinds.proxies import PROXY_CHECK_KIND, PROXY_REFRESH_KIND
from corral.engine.worker.kinds.reconcile import RECONCILE_KIND
from corral.engine.worker.kinds.script import SCRIPT_KIND
from corral.engine.worker.kinds.selftest import SELFTEST_KIND
from corral.engine.worker.kinds.spec import KindSpec
from corral.engine.worker.kinds.survey import SURVEY_KIND
from corral.engine.worker.kinds.webhook import WEBHOOK_KIND

KINDS: tuple[KindSpec, ...] = (
    PAGE_KIND,
    SURVEY_KIND,
    CRAWL_KIND,
    CRAWL_HELPER_KIND,
    SCRIPT_KIND,
    RECONCILE_KIND,
    DRAIN_KIND,
    EXPORT_KIND,
    WEBHOOK_KIND,
    PROXY_REFRESH_KIND,
    PROXY_CHECK_KIND,
    ALERT_KIND,
    DATASET_KIND,
    SELFTEST_KIND,
)


def find_kind(name: str) -> KindSpec:
    """Return the kind of this name; raise BadInput with the known ones otherwise."""
    for spec in KINDS:
        if spec.name == name:
            return spec
    known = ", ".join(sorted(spec.name for spec in KINDS))
    raise BadInput(f"unknown run kind {name!r}", field="kind", hint=f"known kinds: {known}")
