import json
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from corral.cli.verbs.demo import adapt_settings, job_for
from corral.demo import DEMO_JOBS, running_site
from corral.settings import Settings
from corral.wiring.roles import open_client
from tests.chaos.level import LEVEL
from tests.cli.command import Corral, line_with


@pytest.mark.slow
def test_the_demo_shows_what_became_of_each_job(
    corral: Corral, started_forks: Callable[..., subprocess.Popen[str]]
) -> None:
    process = started_forks(corral, "demo", "--port", "0", "--site-port", "0")
    line_with(process, "starting a run of each demo job")
    assert process.stdout is not None
    header = process.stdout.readline().split()
    rows = [process.stdout.readline() for _ in DEMO_JOBS]
    assert re.search(r"http://127\.0\.0\.1:\d+/", line_with(process, "look around at"))
    process.send_signal(signal.SIGINT)

    assert process.wait(10) == 130
    assert header == ["job", "shows", "status", "tries", "result"]
    assert [row.split()[0] for row in rows] == [job.name for job in DEMO_JOBS]
    assert " completed " in rows[0]


@pytest.mark.slow
@pytest.mark.skipif(not LEVEL, reason="the demo takes its time; the long run has it")
def test_the_demo_tells_programs_in_lines_of_json(
    corral: Corral, started: Callable[..., subprocess.Popen[str]]
) -> None:
    process = started(corral, "demo", "--port", "0", "--site-port", "0", "--json")
    assert process.stdout is not None
    up, shown = (json.loads(process.stdout.readline()) for _ in range(2))
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    assert (up["status"], up["site"].startswith("http://127.0.0.1:")) == ("up", True)
    assert [job["job"] for job in shown["jobs"]] == [job.name for job in DEMO_JOBS]
    assert shown["jobs"][0]["run"]["status"] == "completed"


async def test_a_second_demo_goes_on_with_the_jobs_of_the_first_at_another_port(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, probe_timeout_seconds=0.2)
    for _ in range(2):
        async with running_site() as site, open_client(adapt_settings(settings, site)) as app:
            for demo_job in DEMO_JOBS:
                stored = await job_for(app, demo_job, site)
                assert stored.job.target_url == site.url + demo_job.path
            assert len(await app.store.jobs.newest(None, 100)) == len(DEMO_JOBS)


async def test_the_demo_allows_exactly_its_site_beside_what_is_configured(tmp_path: Path) -> None:
    settings = Settings(egress_allow="10.0.0.0/8:80")
    async with running_site() as site:
        adapted = adapt_settings(settings, site)

    assert [str(entry) for entry in adapted.egress_allow] == ["10.0.0.0/8:80", f"127.0.0.1/32:{site.port}"]
    assert adapted.data_dir == Path("var/demo")
    assert adapt_settings(Settings(data_dir=tmp_path), site).data_dir == tmp_path
