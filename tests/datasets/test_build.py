"""A whole build, through its configuration."""

import fcntl
import json
import sys
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from corral.domain.ports.datasets import FetchRules, ImageFetcher, ImagePage
from corral.domain.runs.outcome import Deferred, Failed, WaitReason
from tests.datasets.builder import open_builder
from tests.datasets.builds import config, manifest, run, urls
from tests.datasets.site import Reply, serve_images
from tests.export.reading import parquet, parquet_file
from tests.images.builders import encode, picture

CAT, DOG, COW = (encode(picture(seed)) for seed in (1, 2, 3))
CAT_AGAIN = encode(picture(1).resize((120, 90)), quality=70)


def html(body: str, **headers: str) -> Reply:
    return Reply(body.encode(), 200, "text/html", tuple(headers.items()))


async def test_every_export_and_every_label_format_is_written(tmp_path: Path) -> None:
    replies = {"/cat-1.jpg": Reply(CAT), "/dog-1.png": Reply(DOG), "/cat-2.jpg": Reply(COW)}
    with serve_images(replies) as site:
        async with open_builder(tmp_path) as builder:
            stats = await run(
                builder,
                config(
                    site,
                    urls(site, *replies),
                    image_size=64,
                    export=["folders", "zip", "webdataset", "parquet", "huggingface"],
                    label_formats=["txt", "json", "csv", "yaml", "coco", "yolo"],
                    shard_size=2,
                ),
            )
    out = tmp_path / "out"
    entries = manifest(builder)
    files = sorted(entry["file"] for entry in entries)
    assert (stats["states"], stats["is_partial"], len(files)) == ({"kept": 3}, False, 3)
    assert sorted(str(path.relative_to(out / "images")) for path in out.glob("images/*/*")) == files
    for entry in entries:
        with Image.open(out / "images" / entry["file"]) as image:
            assert (image.size, image.format) == ((64, 48), "JPEG")
    with zipfile.ZipFile(out / "pets.zip") as archive:
        assert sorted(archive.namelist()) == sorted([*files, "manifest.jsonl"])
    shards = sorted(out.glob("shards/*.tar"))
    members = []
    for shard in shards:
        with tarfile.open(shard) as archive_of_shard:
            members += archive_of_shard.getnames()
    assert (len(shards), len(members)) == (2, 3 * 4)
    table = parquet((out / "pets.parquet").read_bytes())
    assert [row["label"] for row in table] == [["cats", "dogs"].index(entry["category"]) for entry in entries]
    assert table[0]["image"]["bytes"] == (out / "images" / entries[0]["file"]).read_bytes()
    metadata = [json.loads(line) for line in (out / "huggingface/train/metadata.jsonl").read_text().splitlines()]
    assert [row["file_name"] for row in metadata] == [entry["file"] for entry in entries]
    assert all((out / "huggingface/train" / row["file_name"]).is_file() for row in metadata)
    labels = {str(path.relative_to(out / "labels")) for path in out.glob("labels/**/*") if path.is_file()}
    assert labels >= {"labels.txt", "labels.json", "labels.csv", "labels.yaml", "coco.json", "yolo/data.yaml"}
    schema = parquet_file((out / "pets.parquet").read_bytes()).schema_arrow
    features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    assert list(features) == schema.names
    assert (features["image"], features["label"]["names"]) == ({"_type": "Image"}, ["cats", "dogs"])
    page = (out / "report.html").read_text()
    assert page.count("data:image/jpeg;base64,") == 3
    assert "<script" not in page
    assert page.count("<svg") == 5


async def test_what_is_left_out_is_counted_and_broken_files_are_quarantined(tmp_path: Path) -> None:
    replies = {
        "/cat.jpg": Reply(CAT),
        "/cat-broken.jpg": Reply(CAT[:-500]),
        "/cat-page.jpg": Reply(b"<!doctype html><p>no"),
        "/cat-noai.jpg": Reply(DOG, headers=(("x-robots-tag", "noimageai"),)),
        "/private/cat.jpg": Reply(COW),
        "/cat-copy.jpg": Reply(CAT),
        "/cat-near.jpg": Reply(CAT_AGAIN),
        "/robots.txt": Reply(b"User-agent: *\nDisallow: /private", content_type="text/plain"),
    }
    paths = [path for path in replies if path != "/robots.txt"]
    with serve_images(replies) as site:
        async with open_builder(tmp_path) as builder:
            document = config(site, urls(site, *paths, "/cat-gone.jpg", category="cats"))
            stats = await run(builder, document)
            reasons = stats["reasons"]
            assert stats["is_partial"]
            assert reasons == {
                "duplicate:exact": 1,
                "duplicate:near": 1,
                "failed:http_404": 1,
                "quarantined:html": 1,
                "quarantined:truncated": 1,
                "refused:policy:noai": 1,
                "refused:policy:robots": 1,
            }
            quarantine = (tmp_path / "out/quarantine/quarantine.jsonl").read_text().splitlines()
            assert {json.loads(line)["reason"] for line in quarantine} == {"html", "truncated"}
            [broken] = (tmp_path / "out/quarantine/truncated").iterdir()
            assert broken.read_bytes() == CAT[:-500]
            document["options"] |= {
                "respect_robots": False,
                "respect_noai": False,
                "deduplicate": {"mode": "near", "action": "quarantine"},
                "validation": "fast",
            }
            again = await run(builder, document, run_id="second")
            assert again["states"] == {"failed": 1, "kept": 4, "duplicate": 2, "quarantined": 1}
            assert len(list((tmp_path / "out/quarantine/duplicate").iterdir())) == 2
            document["options"]["deduplicate"] = {"mode": "near", "action": "report"}
            assert (await run(builder, document))["states"]["kept"] == 6
            document["options"]["deduplicate"] = False
            assert (await run(builder, document))["states"]["kept"] == 6
            lineage = [json.loads(line) for line in (tmp_path / "out/lineage.jsonl").read_text().splitlines()]
            assert {entry["run_id"] for entry in lineage} == {"run", "second"}


async def test_flaky_images_are_retried_and_dead_ones_given_up(tmp_path: Path) -> None:
    def answers(path: str, before: int) -> Reply | None:
        if path == "/robots.txt":
            return None
        if path == "/cat-dead.jpg" or before == 0:
            return Reply(b"busy", 503)
        return Reply(encode(picture(hash(path) % 1000)))

    with serve_images(answers) as site:
        async with open_builder(tmp_path) as builder:
            source = urls(site, "/cat-1.jpg", "/cat-2.jpg", "/cat-dead.jpg")
            stats = await run(builder, config(site, source, max_retries=1))
            assert (stats["states"], stats["left_out"]) == ({"kept": 2, "failed": 1}, {"failed:http_503": 1})
            assert site.requests["/cat-dead.jpg"] == 2
            # A later build tries what failed again, and nothing else.
            await run(builder, config(site, source, max_retries=0))
            assert site.requests["/cat-dead.jpg"] == 3
            assert site.requests["/cat-1.jpg"] == 2


async def test_pages_and_crawls_give_images_with_captions_and_lineage(tmp_path: Path) -> None:
    replies = {
        "/": html('<a href="/more">more</a><a href="/noai">x</a><img src="/1.jpg" alt="a cat"><img src="/9.jpg">'),
        "/more": html('<title>Dogs and a dog</title><img srcset="/s.jpg 10w, /2.jpg 99w">'),
        "/noai": html('<meta name="robots" content="noai"><img src="/3.jpg" alt="cat">'),
        "/1.jpg": Reply(CAT),
        "/2.jpg": Reply(DOG),
    }
    with serve_images(replies) as site:
        async with open_builder(tmp_path) as builder:
            crawl = {"type": "crawl", "urls": [f"{site.url}/"], "depth": 1}
            stats = await run(builder, config(site, crawl))
            entries = {entry["url"].removeprefix(site.url): entry for entry in manifest(builder)}
            assert (entries["/1.jpg"]["category"], entries["/1.jpg"]["caption"]) == ("cats", "a cat")
            assert (entries["/2.jpg"]["category"], entries["/2.jpg"]["page_url"]) == ("dogs", f"{site.url}/more")
            assert stats["left_out"] == {"refused:policy:noai": 1}
            assert stats["steps"]["discover"]["left_out"] == {"no_category": 1}
            assert site.requests["/3.jpg"] == 0
            pages = {"type": "pages", "urls": [f"{site.url}/", f"{site.url}/nowhere"], "category": "cats"}
            document = config(site, pages, output_dir="other")
            stats = await run(builder, document)
            assert stats["left_out"] == {"discover:page_failed:http_404": 1, "failed:http_404": 1}


class _Deferring:
    """A busy host: every request is sent back six times before it is made."""

    def __init__(self, fetcher: ImageFetcher) -> None:
        self._fetcher = fetcher
        self._asked: Counter[str] = Counter()

    async def fetch_image(self, url: str, rules: FetchRules) -> bytes | Failed | Deferred:
        return self._defer(url) or await self._fetcher.fetch_image(url, rules)

    async def read_page(self, url: str, rules: FetchRules) -> ImagePage | Failed | Deferred:
        return self._defer(url) or await self._fetcher.read_page(url, rules)

    async def fetch_document(self, url: str, rules: FetchRules) -> bytes | Failed | Deferred:
        return self._defer(url) or await self._fetcher.fetch_document(url, rules)

    def _defer(self, url: str) -> Deferred | None:
        self._asked[url] += 1
        return Deferred("host", WaitReason.BUSY, 0.01) if self._asked[url] <= 6 else None


async def test_a_deferral_is_no_attempt_at_a_page_a_search_or_an_image(tmp_path: Path) -> None:
    def answers(path: str, _: int) -> Reply | None:
        if path == "/search":
            return Reply(json.dumps([f"{site.url}/2.jpg"]).encode(), content_type="application/json")
        return {"/": html('<img src="/1.jpg">'), "/1.jpg": Reply(CAT), "/2.jpg": Reply(DOG)}.get(path)

    with serve_images(answers) as site:
        pages = {"type": "pages", "urls": [f"{site.url}/"], "category": "cats"}
        search = {"type": "search", "url": f"{site.url}/search#{{keyword}}", "category": "dogs"}
        async with open_builder(tmp_path, _Deferring) as builder:
            stats = await run(builder, config(site, pages, search, max_retries=0))
    assert (stats["states"], stats["left_out"]) == ({"kept": 2}, {})


async def test_search_back_ends_of_the_user(tmp_path: Path) -> None:
    def answers(path: str, _: int) -> Reply | None:
        if path.startswith("/search"):
            found = [{"image": f"/{path[-1]}.jpg", "title": "t"}] if path.endswith(("=1", "=2")) else []
            items = [{**each, "image": f"{site.url}{each['image']}"} for each in found]
            return Reply(json.dumps({"hits": items}).encode(), content_type="application/json")
        return Reply({"/1.jpg": CAT, "/2.jpg": DOG, "/c.jpg": COW}.get(path, b""))

    script = tmp_path / "find.py"
    script.write_text("import sys\nprint(sys.argv[1])\n")
    with serve_images(answers) as site:
        (tmp_path / "finder.py").write_text(f"def find(keyword):\n    yield {{'url': '{site.url}/c.jpg'}}\n")
        search = {"type": "search", "url": f"{site.url}/search?q={{keyword}}&p={{page}}", "pages": 5}
        search |= {"items": "$.hits[*]", "image": "image", "caption": "title", "category": "cats"}
        python = {"type": "python", "function": "finder:find", "category": "dogs"}
        command = {"type": "command", "command": [sys.executable, str(script), f"{site.url}/{{keyword}}.jpg"]}
        async with open_builder(tmp_path) as builder:
            document = config(site, search, python, command, deduplicate="off")
            stats = await run(builder, document)
            entries = {entry["url"].removeprefix(site.url): entry for entry in manifest(builder)}
            assert {path: entry["category"] for path, entry in entries.items()} == {
                "/1.jpg": "cats",
                "/2.jpg": "cats",
                "/c.jpg": "dogs",
            }
            assert stats["left_out"] == {"quarantined:empty": 2}  # what the command found
            assert site.requests["/search?q=cat&p=3"] == 1
            assert site.requests["/search?q=cat&p=4"] == 0
            refused = await builder.build(document, may_execute=False)
            assert isinstance(refused, Failed)
            assert refused.detail == "command"
            broken = config(site, urls(site, "/1.jpg", category="cats"), {"type": "command", "command": ["false"]})
            stats = await run(builder, broken)
            assert any("exited with 1" in reason for reason in stats["left_out"])


async def test_the_limits_of_the_caller_are_kept(tmp_path: Path) -> None:
    tall = encode(picture(5, (40, 900)))
    replies = {f"/cat-{number}.jpg": Reply(encode(picture(number))) for number in range(5)}
    replies |= {"/cat-tall.jpg": Reply(tall), "/cat-large.jpg": Reply(encode(picture(9, (900, 900)), "BMP"))}
    with serve_images(replies) as site:
        async with open_builder(tmp_path) as builder:
            stats = await run(builder, config(site, urls(site, *replies), max_images=3, output_dir="a"))
            assert (stats["states"], stats["is_partial"]) == ({"kept": 3}, False)
            limits = {"min_width": 100, "max_bytes": 1_000_000, "output_dir": "b"}
            stats = await run(builder, config(site, urls(site, *replies), **limits))
            assert stats["left_out"] == {"failed:limit:body_too_large": 1, "quarantined:too_small": 1}
            stats = await run(builder, config(site, urls(site, *replies), max_pixels=20_000, output_dir="c"))
            assert stats["left_out"] == {"quarantined:too_many_pixels": 2}


@pytest.mark.parametrize(
    "name, text",
    [
        ("u.txt", "# images\n{0}/cat.jpg\n\n{0}/dog.jpg\n"),
        ("u.csv", "url,caption\n{0}/cat.jpg,x\n{0}/dog.jpg,y\n"),
        ("u.jsonl", '{{"url": "{0}/cat.jpg"}}\n"{0}/dog.jpg"\n'),
        ("u.json", '["{0}/cat.jpg", {{"url": "{0}/dog.jpg"}}]'),
    ],
)
async def test_lists_of_addresses_in_files(tmp_path: Path, name: str, text: str) -> None:
    with serve_images({"/cat.jpg": Reply(CAT), "/dog.jpg": Reply(DOG)}) as site:
        (tmp_path / name).write_text(text.format(site.url))
        async with open_builder(tmp_path) as builder:
            document = config(site, {"type": "urls", "file": name})
            trusted = (site.url.removeprefix("http://"),)
            stats = await run(builder, document, trusted_hosts=trusted)
            assert stats["states"] == {"kept": 2}
            # Without the trust of a person, a private host is not reached.
            refused = await builder.build({**document, "options": {"output_dir": "x"}}, trusted_hosts=())
            assert isinstance(refused, Failed)
            assert refused.stats["left_out"] == {"refused:policy:egress": 2}


async def test_a_later_build_downloads_only_what_is_new_and_its_manifest_is_that_of_one_build(tmp_path: Path) -> None:
    replies = {f"/cat-{number}.jpg": Reply(encode(picture(number))) for number in range(12)}
    replies |= {"/cat-20.jpg": Reply(encode(picture(3).resize((120, 90)), quality=60))}
    paths = list(replies)
    with serve_images(replies) as site:
        async with open_builder(tmp_path / "one") as builder:
            await run(builder, config(site, urls(site, *paths[:8])))
            stats = await run(builder, config(site, urls(site, *paths)), run_id="second")
            in_two = (builder.folder / "out/manifest.jsonl").read_bytes()
            assert stats["steps"]["deduplicate"]["new"] == 5
            assert max(site.requests[path] for path in paths) == 1
            # Images that are no longer part of the dataset leave the folder; other files stay.
            (builder.folder / "out/images/cats/notes.txt").write_text("mine")
            kept = len(list((builder.folder / "out/images/cats").iterdir())) - 1
            assert kept == stats["steps"]["export"]["images"]
        async with open_builder(tmp_path / "two") as builder:
            await run(builder, config(site, urls(site, *reversed(paths)), concurrency=1))
            assert (builder.folder / "out/manifest.jsonl").read_bytes() == in_two


async def test_two_runs_do_not_build_the_same_dataset_at_once(tmp_path: Path) -> None:
    with serve_images({"/cat.jpg": Reply(CAT)}) as site:
        async with open_builder(tmp_path) as builder:
            document = config(site, urls(site, "/cat.jpg"))
            await run(builder, document)
            [lock] = (tmp_path / "packs").glob("*/lock")
            with lock.open() as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                refused = await builder.build(document)
            assert isinstance(refused, Failed)
            assert refused.detail == "busy"


async def test_steps_can_be_executed_one_by_one(tmp_path: Path) -> None:
    with serve_images({"/cat.jpg": Reply(CAT)}) as site:
        async with open_builder(tmp_path) as builder:
            document = config(site, urls(site, "/cat.jpg"))
            for step in ("discover", "download", "validate", "deduplicate", "label", "export", "report", "clean_up"):
                stats = await run(builder, document, steps=(step,))
                assert list(stats["steps"]) == [step]
            assert len(manifest(builder)) == 1
            unknown = await builder.build(document, steps=("paint",))
            assert isinstance(unknown, Failed)


async def test_a_folder_that_cannot_be_written_is_found_before_anything_is_requested(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with serve_images({"/cat.jpg": Reply(CAT)}) as site:
        async with open_builder(tmp_path) as builder:
            for folder in ("file", "file/out", "/proc/out"):
                failed = await builder.build(config(site, urls(site, "/cat.jpg"), output_dir=folder))
                assert isinstance(failed, Failed)
                assert (failed.code, failed.detail) == ("limit", "disk")
                assert "cannot be written" in failed.message
        assert not site.requests


async def test_a_full_disk_stops_a_build_which_continues_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_images({"/cat.jpg": Reply(CAT)}) as site:
        async with open_builder(tmp_path) as builder:
            document = config(site, urls(site, "/cat.jpg"))
            with monkeypatch.context() as patch:
                patch.setattr("corral.files.private_file._RESERVED_BYTES", 2**62)
                failed = await builder.build(document)
            assert isinstance(failed, Failed)
            assert (failed.detail, "nearly full" in failed.message) == ("disk", True)
            assert (await run(builder, document))["states"] == {"kept": 1}
