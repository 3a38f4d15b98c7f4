"""The configuration of sites: read with the source of each value, write, delete."""

from typing import Annotated

from fastapi import Header, Path
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral
from corral.api.routing import make_router
from corral.api.schemas.common import Deleted
from corral.domain.errors import SiteConfigNotFound
from corral.domain.site_config.book import SiteBook
from corral.domain.site_config.order import check_no_cycle
from corral.domain.site_config.site_key import parse_exact_key, parse_site_key
from corral.domain.site_config.values import flatten
from corral.views.site_config import SiteConfigChange, SiteConfigRead, site_config_read
from corral.wiring.app import App
from corral.wiring.sites.books import settings_layer

router = make_router("sites")

Site = Annotated[str, Path(max_length=255, description="a domain, or a host, without `www.`")]


@router.get("/sites/configs", response_model=list[SiteConfigRead])
async def list_configs(corral: Corral) -> Response:
    """List every site that a file or a request configures."""
    book = await corral.sites.books.read()
    return render.answer([await _read(corral, book, site) for site in book.sites])


@router.get("/sites/{site}/config", response_model=SiteConfigRead)
async def read_config(site: Site, corral: Corral) -> Response:
    """Return the merged configuration, even of a site that only the settings configure."""
    return await _answer(corral, parse_site_key(site))


@router.put("/sites/{site}/config", response_model=SiteConfigRead)
async def write_config(
    site: Site, body: SiteConfigChange, corral: Corral, if_match: Annotated[str | None, Header(max_length=100)] = None
) -> Response:
    """Write a configuration that overrides the files for this site. Nodes apply it within three seconds.

    With the ETag of an earlier answer in `If-Match`, the request is refused if the stored configuration has changed.
    """
    key, document = parse_exact_key(site), body.check()
    book = await corral.sites.books.read()
    check_no_cycle(SiteBook(book.files, {**book.stored, key: flatten(document)}).dependencies())
    await corral.store.site_configs.put(key, document, None if if_match is None else if_match.strip('"'))
    return await _answer(corral, key)


@router.delete("/sites/{site}/config", response_model=Deleted)
async def delete_config(site: Site, corral: Corral) -> Response:
    """Delete the configuration written over HTTP; files, defaults and settings apply again."""
    key = parse_site_key(site)
    if not await corral.store.site_configs.delete(key):
        raise SiteConfigNotFound(key)
    return render.answer({"message": f"the stored configuration of {key} is deleted"})


async def _answer(corral: App, site: str) -> Response:
    stored = await corral.store.site_configs.get(site)
    headers = None if stored is None else {"ETag": f'"{stored.version}"'}
    return render.answer(await _read(corral, await corral.sites.books.read(), site), headers=headers)


async def _read(corral: App, book: SiteBook, site: str) -> dict[str, object]:
    stored = await corral.store.site_configs.get(site)
    host = site.rpartition(":")[0] or site
    paced = [each for each in await corral.store.hosts.list_watched() if each.is_of(host)]
    merged = site_config_read(book.find(site, settings_layer(corral.settings)), paced)
    return {
        **merged,
        "stored": None if stored is None else stored.document,
        "updated_at": None if stored is None else stored.updated_at,
    }
