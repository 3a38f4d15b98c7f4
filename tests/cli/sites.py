"""Sites with numbered pages, and their configuration files."""

from tests.cli.command import Corral
from tests.engine.crawl.site import Page, Site


def pages(count: int, **of_page: float) -> dict[str, Page]:
    return {f"/{number}": Page(**of_page) for number in range(count)}  # type: ignore[arg-type]


def urls(site: Site, count: int) -> list[str]:
    return [f"{site.url}/{number}" for number in range(count)]


def write_config(corral: Corral, site: Site, text: str) -> None:
    folder = corral.folder / "config/sites"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{site.url.removeprefix('http://')}.yaml").write_text(text)
