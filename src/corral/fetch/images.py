"""Fetch the sources of a dataset: images, the pages that show them, and the answers of search back ends."""

from corral.domain.errors import BadInput
from corral.domain.hosts.limiter import UNLIMITED, HostAccess
from corral.domain.jobs.survey import Survey
from corral.domain.net.url import Target, parse_target
from corral.domain.ports.datasets import FetchRules, ImagePage, PageImage
from corral.domain.runs.outcome import Deferred, Failed, Fetched, Outcome
from corral.domain.runs.status_classes import failure_of_status
from corral.extract.page_reader import ReadRequest
from corral.extract.survey.images import forbids_training
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchContext, FetchRequest
from corral.fetch.faults import fault
from corral.fetch.parsing.pool import PageReader
from corral.fetch.response import Response
from corral.fetch.robots import Robots, wait_for_rules

NOAI = "noai"
_SUCCESS: Outcome = Fetched()
_IMAGE_HEADERS = {"accept": "image/avif,image/webp,image/*,*/*;q=0.5"}
_JSON_HEADERS = {"accept": "application/json,*/*;q=0.5"}


class EgressImageFetcher:
    def __init__(self, egress: Egress, robots: Robots, reader: PageReader, host_access: HostAccess = UNLIMITED) -> None:
        self._egress = egress
        self._robots = robots
        self._reader = reader
        self._host_access = host_access

    async def fetch_image(self, url: str, rules: FetchRules) -> bytes | Failed | Deferred:
        answer = await self._fetch(url, rules, _IMAGE_HEADERS)
        if not isinstance(answer, Response):
            return answer
        return _refuse_training(self._forbids_training(answer), rules) or answer.body

    async def fetch_document(self, url: str, rules: FetchRules) -> bytes | Failed | Deferred:
        answer = await self._fetch(url, rules, _JSON_HEADERS)
        return answer.body if isinstance(answer, Response) else answer

    async def read_page(self, url: str, rules: FetchRules) -> ImagePage | Failed | Deferred:
        answer = await self._fetch(url, rules, {})
        if not isinstance(answer, Response):
            return answer
        request = ReadRequest(answer.body, answer.url, url, answer.status, answer.headers, survey=Survey.IMAGES)
        read = await self._reader.read(request, rules.timeout_s)
        if isinstance(read, Failed):
            return read
        if read.record["images"] is None:
            return fault("extraction:no_page", f"{url[:200]} is no HTML page")
        return ImagePage(
            url=answer.url,
            title=read.record["title"],
            images=tuple(PageImage(image, caption) for image, caption in read.record["images"]),
            links=tuple(read.record["links"]),
            noai=bool(read.record["noai"]) or self._forbids_training(answer),
        )

    def _forbids_training(self, answer: Response) -> bool:
        tags = [value for name, value in answer.headers if name == "x-robots-tag"]
        return bool(tags) and forbids_training(tags, self._egress.user_agent)

    async def _fetch(self, url: str, rules: FetchRules, headers: dict[str, str]) -> Response | Failed | Deferred:
        """Make one visit to the host, and check robots.txt for the address and for every redirect."""
        outcome: Outcome | None = None
        visit = self._host_access.visit(rules.concurrency)
        context = FetchContext(trusted_hosts=rules.trusted_hosts, visit=visit)
        try:
            target = parse_target(url, max_chars=8192)
            if (refused := await self._check_robots(target, context, rules)) is not None:
                outcome = refused
                return refused

            async def check(following: Target) -> Failed | Deferred | None:
                return await self._check_robots(following, context, rules)

            request = FetchRequest(
                target.url, rules.timeout_s, headers, check_redirect=check, max_bytes=rules.max_bytes
            )
            answer = await self._egress.fetch(request, context)
            if isinstance(answer, Response):
                failure = failure_of_status(answer.status, retry_after=answer.header("retry-after"))
                outcome = failure or _SUCCESS
                return failure or answer
            outcome = answer
            return answer
        except BadInput as problem:
            return fault("policy:url", problem.message)
        finally:
            visit.end(outcome)

    async def _check_robots(self, target: Target, context: FetchContext, rules: FetchRules) -> Failed | Deferred | None:
        if not rules.respect_robots:
            return None
        loaded = await self._robots.load_rules(target, context)
        if not loaded.is_reachable:
            return wait_for_rules(target, loaded)
        return await self._robots.refusal(target, context)


def _refuse_training(is_forbidden: bool, rules: FetchRules) -> Failed | None:
    if not is_forbidden or not rules.respect_noai:
        return None
    return fault(f"policy:{NOAI}", "X-Robots-Tag forbids training; respect_noai: false overrides it")
