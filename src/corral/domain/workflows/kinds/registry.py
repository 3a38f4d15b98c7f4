"""The step kinds. To add one, write its module in this package and list its `StepKind` here."""

from corral.domain.workflows.kinds.crawl import CRAWL_STEP
from corral.domain.workflows.kinds.dataset import DATASET_STEP
from corral.domain.workflows.kinds.drain import DRAIN_STEP
from corral.domain.workflows.kinds.export import EXPORT_STEP
from corral.domain.workflows.kinds.local import LOCAL_STEP_KIND
from corral.domain.workflows.kinds.page import PAGE_STEP
from corral.domain.workflows.kinds.python import PYTHON_STEP
from corral.domain.workflows.kinds.reconcile import RECONCILE_STEP
from corral.domain.workflows.kinds.script import SCRIPT_STEP
from corral.domain.workflows.kinds.selftest import SELFTEST_STEP
from corral.domain.workflows.kinds.spec import StepKind
from corral.domain.workflows.kinds.webhook import WEBHOOK_STEP

_ALL: tuple[StepKind, ...] = (
    PAGE_STEP,
    CRAWL_STEP,
    SCRIPT_STEP,
    EXPORT_STEP,
    DATASET_STEP,
    RECONCILE_STEP,
    DRAIN_STEP,
    WEBHOOK_STEP,
    PYTHON_STEP,
    LOCAL_STEP_KIND,
    SELFTEST_STEP,
)
STEP_KINDS: dict[str, StepKind] = {kind.name: kind for kind in _ALL}
