"""`corral record`: fetch a page and store it as a test."""

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.job_draft import draft_job, find_code, parse_fields, proxy_of
from corral.cli.options import AsJson, FieldOptions, NetworkOptions, TimeoutS
from corral.cli.preflight import check_host
from corral.cli.progress import run as progress
from corral.cli.running import finish
from corral.cli.verbs.recording.folder import META, check_name, name_of, write_recording
from corral.cli.verbs.recording.replay import read_offline
from corral.domain.errors import BadInput
from corral.domain.jobs.job import Job, Strategy
from corral.extract.recording import RecordedPage
from corral.log import configure_logging
from corral.settings import Settings, load_settings
from corral.wiring.roles import open_client

_NO_BROWSER = "install one with `python -m playwright install chromium`, or use --strategy http"


@dataclass(frozen=True, kw_only=True)
class RecordOptions:
    url: Annotated[str, typer.Argument(metavar="URL", help="The page to record.")]
    wanted: FieldOptions
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of the recording. Default: from the address.")
    ] = None
    dir: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Folder of the recordings.")] = Path("recordings")
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a recording of the same name.")] = False
    strategy: Annotated[Strategy, typer.Option("--strategy", help="How to get the page.")] = Strategy.AUTO
    timeout: TimeoutS = None
    network: NetworkOptions
    as_json: AsJson = False


def record(options: RecordOptions) -> None:
    """Record a page and what its fields give, as a test.

    URL may be a private address, because you typed it; only that host is reachable.
    Cookies and authorization headers are not stored.
    Exit code: 0 recorded, 1 the page could not be fetched.

    \b
    corral record https://example.com/product/1 --fields title,price
    corral record https://example.com/shop --recipe shop.yaml --name shop
    """
    settings = load_settings()
    if options.strategy is Strategy.API_REPLAY:
        raise BadInput("an API replay has no page to record", field="strategy", hint="use http, browser or auto")
    job = draft_job(
        settings,
        options.url,
        parse_fields(options.wanted, options.url),
        strategy=options.strategy,
        timeout_s=options.timeout,
        trusts_host=True,
        verify_tls=not options.network.no_verify_tls,
        proxy=proxy_of(settings, options.network.proxy, dry_run=False),
    )
    folder = options.dir / (check_name(options.name) if options.name is not None else name_of(job.target_url))
    if (folder / META).exists() and not options.overwrite:
        raise BadInput(f"{folder} is a recording already", field="name", hint="name another, or add --overwrite")
    finish(_record(settings, job, folder, options))


async def _record(settings: Settings, job: Job, folder: Path, options: RecordOptions) -> int:
    configure_logging("error")
    await check_host(settings, job.target_url, job.trusted_hosts)
    async with open_client(settings) as app:
        try:
            with progress.waiting(f"fetching {job.target_url}"):
                strategy, sent = await app.previews.fetch_page(job, options.strategy)
        except BadInput as problem:
            if problem.code == "strategy_unavailable":
                raise BadInput(problem.message, field="strategy", hint=_NO_BROWSER) from None
            exits.complain(f"the page could not be fetched: {problem.message}", problem.hint)
            return exits.FAILED
    page = _make_page(strategy, sent)
    output = (await read_offline(settings, [(page, job.fields)]))[0]
    write_recording(folder, page, job.fields, output, find_code(options.wanted, job.fields))
    _report(folder, page, output, as_json=options.as_json)
    return exits.DONE


def _make_page(strategy: Strategy, sent: dict[str, Any]) -> RecordedPage:
    return RecordedPage(
        url=sent["url"],
        requested_url=sent["requested_url"],
        status=sent["status"],
        strategy=strategy.value,
        recorded_at=datetime.now(UTC).replace(microsecond=0),
        headers=tuple((name, value) for name, value in sent["headers"]),
        body=base64.b64decode(sent["body"]),
    )


def _report(folder: Path, page: RecordedPage, output: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        render.print_json({"recording": str(folder), "page": page.document(), "expected": output})
        return
    print(f"recorded {page.url} ({page.strategy}, status {page.status}) in {folder}")
    if "failure" in output:
        print(f"the page fails with {output['failure']}, and the test expects that")
    elif output["missing"]:
        print(f"not found: {', '.join(output['missing'])}")
