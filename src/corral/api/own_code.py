"""Refuse own code over HTTP unless the installation allows it: it runs with the rights of the workers."""

from collections.abc import Sequence

from corral.api.schemas.fields import OwnCode, PageFieldsBody
from corral.domain.errors import BadInput
from corral.settings import Settings


def refuse_own_code(
    settings: Settings, parse: OwnCode | None, pages: Sequence[PageFieldsBody] | None = None, where: str = ""
) -> None:
    """Raise BadInput for a request with own code if APP_ALLOW_OWN_CODE is off."""
    if settings.allow_own_code:
        return
    locations = ["parse"] if parse is not None else []
    locations += [
        f"{where}page_fields.{index}.parse" for index, each in enumerate(pages or ()) if each.parse is not None
    ]
    if locations:
        raise BadInput(
            "own code is not accepted over HTTP",
            field=locations[0],
            hint="set APP_ALLOW_OWN_CODE=true for the API, or add the job with `corral job add --parse FILE`",
            code="own_code_refused",
        )
