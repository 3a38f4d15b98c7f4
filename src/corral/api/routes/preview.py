"""Previews of a page without a job: its fields, the matches of a selector, its links."""

from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral
from corral.api.routing import make_router
from corral.api.schemas.preview import (
    ListCheck,
    ListCheckRead,
    PagePreviewRequest,
    PreviewRead,
    SelectorCheck,
    SelectorCheckRead,
    list_read,
    selector_read,
)
from corral.domain.jobs.survey import Survey
from corral.engine.usecases.jobs import check_selectors
from corral.views.previews import preview_read

router = make_router("previews")


@router.post("/jobs/preview", response_model=PreviewRead)
async def preview(body: PagePreviewRequest, corral: Corral) -> Response:
    """Fetch a page as a job would, and propose fields to collect, tried on more pages of its template.

    With `click`, propose selectors for one element of the page.
    """
    click = None if body.click is None else body.click.spec()
    if click is not None and click.selector is not None:
        check_selectors(click, field="click")
    template = await corral.previews.look_at_template(body.url, prefer_browser=body.prefer_browser, click=click)
    return render.answer(preview_read(template))


@router.post("/jobs/validate-selector", response_model=SelectorCheckRead)
async def validate_selector(body: SelectorCheck, corral: Corral) -> Response:
    """Return the value of a selector on a page, read by the code that fills the fields of a job."""
    spec = body.spec()
    check_selectors(spec, field="selector_spec")
    result = await corral.previews.look(body.url, Survey.MATCHES, [spec], prefer_browser=body.prefer_browser)
    return render.answer(selector_read(spec, result))


@router.post("/jobs/list-wizard/validate", response_model=ListCheckRead)
async def validate_list(body: ListCheck, corral: Corral) -> Response:
    """List the distinct links of a list page and its next pages, with warnings; propose missing selectors."""
    specs = body.specs()
    for spec in specs:
        check_selectors(spec, field=spec.name)
    result = await corral.previews.look(body.url, Survey.LIST, specs, prefer_browser=body.prefer_browser)
    return render.answer(list_read(result, body))
