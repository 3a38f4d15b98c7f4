"""Adding images to a dataset costs in proportion to the new ones: counted, not timed."""

import time
from pathlib import Path

import pytest

from tests.chaos.level import by_level
from tests.chaos.report import report
from tests.datasets.builder import Builder, open_builder
from tests.datasets.builds import config, run
from tests.datasets.site import Reply, serve_images
from tests.images.builders import encode, picture

OLD = by_level(600, 10_000)
NEW = OLD // 10
_SIZE = (48, 36)


def read_states(folder: Path) -> dict[Path, tuple[int, int]]:
    """Of every image file and pack: when it was written, and its size."""
    files = [path for pattern in ("out/images/*/*", "packs/*/packs/*") for path in folder.glob(pattern)]
    return {path: ((found := path.stat()).st_mtime_ns, found.st_size) for path in files}


def count_rows(builder: Builder, call: str, argument: str) -> int:
    return sum(len(arguments[argument]) for name, arguments in builder.calls if name == call)


@pytest.mark.timeout(by_level(120, 1200))
async def test_adding_images_requests_decodes_compares_and_writes_only_the_new_ones(tmp_path: Path) -> None:
    def answers(path: str, _: int) -> Reply | None:
        return Reply(encode(picture(int(path[5:-4]), _SIZE))) if path.startswith("/cat-") else None

    with serve_images(answers) as site:
        paths = [f"/cat-{number}.jpg" for number in range(OLD + NEW)]
        (tmp_path / "urls.txt").write_text("".join(f"{site.url}{path}\n" for path in paths[:OLD]))
        document = config(site, {"type": "urls", "file": "urls.txt"}, export=["folders"], label_formats=["csv"])
        trusted = (site.url.removeprefix("http://"),)
        async with open_builder(tmp_path) as builder:
            began = time.monotonic()
            await run(builder, document, trusted_hosts=trusted)
            first_s = time.monotonic() - began
            before = read_states(tmp_path)
            site.requests.clear()
            builder.pool.decoded = 0
            builder.calls.clear()
            (tmp_path / "urls.txt").write_text("".join(f"{site.url}{path}\n" for path in paths))
            began = time.monotonic()
            stats = await run(builder, document, run_id="second", trusted_hosts=trusted)
            added_s = time.monotonic() - began
        after = read_states(tmp_path)
    written = {path: state for path, state in after.items() if before.get(path) != state}
    compared = stats["steps"]["deduplicate"]["compared"]
    assert set(site.requests) == set(paths[OLD:]), "no old image is requested; robots.txt is remembered"
    assert set(site.requests.values()) == {1}
    # The new ones, and those of them that the report shows for the first time.
    assert NEW <= builder.pool.decoded <= NEW + 24
    assert (stats["steps"]["deduplicate"]["new"], stats["steps"]["deduplicate"]["known"]) == (NEW, OLD)
    assert before.keys() - after.keys() == set()
    assert not before.keys() & written.keys(), "no old file is written again"
    assert len([path for path in written if path.suffix == ".jpg"]) == stats["states"]["kept"] - _count(before)
    assert count_rows(builder, "dataset_step_download", "results") == NEW
    assert count_rows(builder, "dataset_judge_images", "verdicts") <= 2 * NEW
    assert count_rows(builder, "dataset_add_pairs", "indexed") == NEW
    report(
        f"dataset of {OLD:,} images in {first_s:.1f} s; {NEW:,} more in {added_s:.1f} s:"
        f" {sum(site.requests.values()):,} requests, {builder.pool.decoded:,} decodes, {compared:,} hashes compared,"
        f" {sum(size for _, size in written.values()):,} bytes of images written"
    )


def _count(files: dict[Path, tuple[int, int]]) -> int:
    return sum(1 for path in files if path.suffix == ".jpg")
