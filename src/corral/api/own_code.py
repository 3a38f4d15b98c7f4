"""Own code over HTTP: refused unless the installation allows it, because it runs with the rights of the workers."""

from collections.abc import Sequence

from corral.api.schemas.fields import OwnCode, PageFieldsBody
from corral.domain.errors import BadInput
from corral.settings import Settings


def refuse_own_code(
    settings: Settings, parse: OwnCode | None, pages: Sequence[PageFieldsBody] | None = None, where: str = ""
) -> None:
    """BadInput for a request with own code, where APP_ALLOW_OWN_CODE is off."""
    if settings.allow_own_code:
        return
    named = ["parse"] if parse is not None else []
    named += [f"{where}page_fields.{place}.parse" for place, each in enumerate(pages or ()) if each.parse is not None]
    if named:
        raise BadInput(
            "own code is not accepted over HTTP",
            field=named[0],
            hint="set APP_ALLOW_OWN_CODE=true for the API, or add the job with `corral job add --parse FILE`",
            code="own_code_refused",
        )
