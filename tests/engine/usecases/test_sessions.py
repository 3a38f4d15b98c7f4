"""Logins as the engine keeps them: what becomes of them when the key of the vault is lost while everything runs."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from corral.domain.errors import BadConfiguration
from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import JobId
from corral.domain.jobs.job import Job
from corral.engine.usecases.sessions import SessionDraft
from corral.runtime.new_ids import new_id
from corral.wiring.roles import open_client
from tests.engine.builders import settings_for

DRAFT = SessionDraft([{"name": "sid", "value": "value-of-a-login"}])


async def test_a_key_lost_while_we_run_is_not_replaced_by_a_new_one(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    key = settings.data_dir / "vault.key"
    async with open_client(settings) as app:
        job = Job(JobId(new_id()), "http://a.test/", (FieldSpec("title"),), datetime.now(UTC), requires_auth=True)
        await app.store.jobs.add(job, None)
        await app.sessions.put(job.id, DRAFT)
        kept = key.read_bytes()
        key.unlink()
        with pytest.raises(BadConfiguration, match="1 stored session is encrypted"):
            await app.sessions.put(job.id, DRAFT)
        assert not key.exists()
        key.write_bytes(kept)
        key.chmod(0o600)
        info, _ = await app.sessions.put(job.id, DRAFT)
        assert info.version == 2
