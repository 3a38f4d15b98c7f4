"""A first look at a target, short and forgiving: it informs a choice, it decides nothing."""

from collections.abc import Sequence

from corral.domain.job import FieldSpec
from corral.domain.outcome import Failed, FailureCode
from corral.domain.probe import Probe
from corral.extract.charset import decode
from corral.extract.page import is_too_deep
from corral.extract.spa import is_application_shell
from corral.fetch.egress import Egress
from corral.fetch.limits import MIB

_MAX_BYTES = 2 * MIB


async def probe(
    egress: Egress,
    url: str,
    fields: Sequence[FieldSpec],
    trusted_hosts: frozenset[str] = frozenset(),
    budget_s: float = 3.0,
) -> Probe:
    """Ask once and look at the whole document, up to two megabytes of it."""
    answer = await egress.fetch(
        url, timeout_s=budget_s, max_bytes=_MAX_BYTES, trusted_hosts=trusted_hosts, truncate=True
    )
    if isinstance(answer, Failed):
        unresolved = answer.code is FailureCode.NETWORK and answer.detail == "dns"
        return Probe(status=None, failure=answer, resolved=not unresolved)
    content_type = answer.header("content-type") or ""
    is_page = answer.status == 200 and ("html" in content_type or not content_type)
    text = decode(answer.body, content_type).text if is_page else ""
    is_shell = is_page and not is_too_deep(text) and is_application_shell(text, fields)
    return Probe(status=answer.status, is_shell=is_shell)
