"""Our own errors. The web's faults are values (`outcome.Failed`), not exceptions.

CorralError
├── BadInput            the caller can fix it; names the field
│   └── IdempotencyKeyReuse
├── NotFound            JobNotFound, RunNotFound, RecordNotFound, RecipeNotFound, SiteNotFound, SiteConfigNotFound,
│                       CampaignNotFound, AlertChannelNotFound, SessionNotFound, InterventionNotFound,
│                       ArtifactNotFound, FieldNotFound, ScraperNotFound, WorkflowNotFound
├── ScriptNotRunnable   a script that may not or cannot be started
├── WrongState          the state forbids it; names the state
│   └── InterventionClosed
├── NothingToAccept     the data of a run is not withheld
├── DataWithheld        the records of a run are withheld because of the verdict on its data
├── PagesNotKept        an archive was requested of a run that stored no pages
├── TooManyLooks        the limit of concurrent previews; TooManyExports is that of exports
├── CannotLook          a preview failed on our side
├── BadConfiguration    settings or files; all problems at once
└── StorageError
    ├── StorageUnavailable   come back later
    ├── StorageFull
    └── StorageUnusable      corrupt, too new, on a network file system: a person must act
        └── StorageMoved     its data was migrated to another database
"""

from collections.abc import Sequence


class CorralError(Exception):
    """Base class of all errors that Corral raises on purpose."""

    code = "error"

    def __init__(self, message: str, *, field: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.hint = hint


class BadInput(CorralError):
    code = "bad_input"

    def __init__(
        self, message: str, *, field: str | None = None, hint: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message, field=field, hint=hint)
        if code is not None:
            self.code = code


class IdempotencyKeyReuse(BadInput):
    def __init__(self) -> None:
        super().__init__(
            "this Idempotency-Key was used before with another request",
            field="Idempotency-Key",
            hint="send a new key for a new request",
            code="idempotency_key_reuse",
        )


class NotFound(CorralError):
    code = "not_found"


class JobNotFound(NotFound):
    def __init__(self, job_id: str) -> None:
        super().__init__(f"no job {job_id}", hint="list jobs with `corral job list`")


class RunNotFound(NotFound):
    def __init__(self, run_id: str) -> None:
        super().__init__(f"no run {run_id}", hint="list runs with `corral run list`")


class WorkflowNotFound(NotFound):
    def __init__(self, workflow_id: str) -> None:
        super().__init__(f"no workflow {workflow_id}", hint="list workflows with `corral workflow list`")


class RecordNotFound(NotFound):
    def __init__(self, record_id: str) -> None:
        super().__init__(f"no record {record_id}", hint="list a run's records with `corral records RUN`")


class RecipeNotFound(NotFound):
    def __init__(self, recipe_id: str) -> None:
        super().__init__(f"no recipe {recipe_id}", hint="list a site's recipes with `corral site show HOST`")


class SiteNotFound(NotFound):
    def __init__(self, host: str) -> None:
        super().__init__(f"nothing is known about {host}", hint="`corral site list` shows the sites that were visited")


class PageNotSeen(NotFound):
    def __init__(self, url: str) -> None:
        super().__init__(f"{url[:200]} was not seen by this crawl", hint="a greater depth or scope lets it see further")


class SiteConfigNotFound(NotFound):
    def __init__(self, site: str) -> None:
        super().__init__(f"no stored configuration of {site}", hint="GET /sites/configs lists the configured sites")


class CampaignNotFound(NotFound):
    def __init__(self, campaign_id: str) -> None:
        super().__init__(f"no campaign {campaign_id}", hint="list campaigns with `corral site watch --list`")


class AlertChannelNotFound(NotFound):
    def __init__(self, name: str) -> None:
        super().__init__(f"no alert channel {name}", hint="list channels with `corral alert list`")


class SessionNotFound(NotFound):
    def __init__(self, session_id: str) -> None:
        super().__init__(f"no session {session_id}", hint="list sessions with `corral session list`")


class InterventionNotFound(NotFound):
    def __init__(self, intervention_id: str) -> None:
        super().__init__(f"no intervention {intervention_id}", hint="list them with GET /interventions")


class ArtifactNotFound(NotFound):
    def __init__(self, artifact_id: str) -> None:
        super().__init__(
            f"this run has no artifact {artifact_id[:64]}, or it was deleted",
            hint="GET /jobs/runs/{run_id}/artifacts lists the stored ones",
        )


class NotSupervised(NotFound):
    code = "not_supervised"

    def __init__(self) -> None:
        super().__init__("no supervisor runs for this installation", hint="start one with `corral up --distributed`")


class ScraperNotFound(NotFound):
    """There is no scraper of this name, or no script for it. `locations` are where the registry looked."""

    code = "scraper_not_found"

    def __init__(self, name: str, locations: Sequence[str], *, is_configured: bool = False) -> None:
        what = f"the script of scraper {name[:80]!r} is missing" if is_configured else f"no scraper {name[:80]!r}"
        super().__init__(f"{what}; looked for {', '.join(locations)}", field="scraper")
        if is_configured:
            self.code = "script_missing"


class ScriptNotRunnable(CorralError):
    code = "script_not_runnable"


class FieldNotFound(NotFound):
    def __init__(self, name: str) -> None:
        super().__init__(f"the job has no field {name[:200]!r}", hint="list them with GET /jobs/{job_id}/field-maps")


class TooManyLooks(CorralError):
    code = "too_many_previews"

    def __init__(self) -> None:
        super().__init__("too many previews are running", hint="try again in a moment")


class TooManyExports(CorralError):
    code = "too_many_exports"

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} exports are running already", hint="try again when one of them has ended")


class PagesNotKept(CorralError):
    code = "pages_not_kept"

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"run {run_id} did not keep its pages, so it cannot be exported as WARC",
            hint="crawl again with --keep-pages, or with -o FILE.warc.gz; its records can be exported as jsonl",
        )


class CannotLook(CorralError):
    code = "cannot_look"


class WrongState(CorralError):
    """The state machine has no such edge. `state` is the current state of the run."""

    code = "wrong_state"

    def __init__(self, what: str, state: str, *, terminal: bool) -> None:
        super().__init__(f"cannot {what}: the run is {state}")
        self.state = state
        if terminal:
            self.code = "already_terminal"


class NothingToAccept(CorralError):
    code = "nothing_to_accept"

    def __init__(self, run_id: str, verdict: object, *, is_accepted: bool) -> None:
        why = (
            "it was accepted before" if is_accepted else f"its verdict is {verdict}" if verdict else "it has no verdict"
        )
        hint = "only runs whose verdict is suspect or broken can be accepted; see `corral run show RUN`"
        super().__init__(f"the data of run {run_id} is not withheld: {why}", hint=hint)


class DataWithheld(CorralError):
    code = "data_withheld"

    def __init__(self, run_id: str, verdict: object) -> None:
        hint = (
            f"look at it with `corral run show {run_id}`, then accept it, or export it with withheld=true (--withheld)"
        )
        super().__init__(f"the records of run {run_id} are withheld: the verdict on its data is {verdict}", hint=hint)


class SessionChanged(CorralError):
    """Another writer stored the next version first: the caller seals the session again and retries."""

    code = "session_changed"

    def __init__(self) -> None:
        super().__init__("the session was changed concurrently", hint="send it again")


class SiteConfigChanged(CorralError):
    """The configuration was changed after the writer had read it."""

    code = "site_config_changed"

    def __init__(self, site: str) -> None:
        hint = "read it again, apply your change, and send it with the new ETag in If-Match"
        super().__init__(f"the configuration of {site} was changed since it was read", hint=hint)


class InterventionClosed(WrongState):
    def __init__(self, status: str) -> None:
        CorralError.__init__(self, f"cannot resolve the intervention: it is {status}")
        self.state = status


class BadConfiguration(CorralError):
    code = "bad_configuration"

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class StorageError(CorralError):
    code = "storage"


class StorageUnavailable(StorageError):
    code = "storage_unavailable"


class StorageFull(StorageError):
    code = "storage_full"


class StorageUnusable(StorageError):
    code = "storage_unusable"


class StorageMoved(StorageUnusable):
    code = "storage_moved"

    def __init__(self, where: str, sentence: str) -> None:
        super().__init__(f"{where} was {sentence}", hint="set APP_DATABASE_URL to that database and start Corral again")
