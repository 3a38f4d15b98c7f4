"""The quality report: one HTML page with contact sheets and histograms, without scripts."""

import base64
import html
from collections import Counter
from collections.abc import Sequence
from typing import Any

from corral.datasets.context import BuildContext
from corral.datasets.exports.writer import write_whole
from corral.datasets.thumbnails import ThumbnailCache
from corral.domain.datasets.image import ImageRow, ImageState, describe_state

_SHEET = 24  # pictures per category
_BARS = 20
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .8rem .2rem 0;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}
.sheet{display:flex;flex-wrap:wrap;gap:4px}.sheet img{width:96px;height:96px;display:block}
.charts{display:flex;flex-wrap:wrap;gap:2rem}figure{margin:0}figcaption{color:#555;font-size:13px}
rect{fill:#4878a8}text{font-size:10px;fill:#555}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}figcaption,text{color:#aaa;fill:#aaa}}
"""


async def write_report(context: BuildContext) -> str:
    """Write report.html; return its path."""
    samples: dict[str, list[ImageRow]] = {category: [] for category in context.config.categories}
    by_category: Counter[str] = Counter()
    values: dict[str, list[float]] = {"width": [], "height": [], "KiB": [], "brightness": [], "contrast": []}
    formats: Counter[str] = Counter()
    async for rows in context.store.pages():
        for row in rows:
            if row.state != ImageState.KEPT:
                continue
            by_category[row.category] += 1
            if len(samples.setdefault(row.category, [])) < _SHEET:
                samples[row.category].append(row)
            facts = row.facts
            formats[facts.format] += 1
            measured = (facts.width, facts.height, facts.size / 1024, facts.brightness, facts.contrast)
            for series, value in zip(values.values(), measured, strict=True):
                series.append(value)
    counts = describe_state(await context.store.count_images())
    parts = [_head(context.config.name, sum(by_category.values()))]
    parts.append(_table("Images by state", counts["states"]))
    parts.append(_table("Left out, by reason", counts["reasons"] | context.notes))
    parts.append(_table("Images by category", by_category))
    parts.append(_table("Original formats", formats))
    charts = "".join(_histogram(name, series) for name, series in values.items() if series)
    parts.append(f'<h2>Distributions</h2><div class="charts">{charts}</div>')
    cache = ThumbnailCache(context.packs.folder.parent / "thumbnails")
    for category, rows in samples.items():
        parts.append(await _sheet(context, category, rows, cache))
    cache.save()
    with write_whole(context.output / "report.html") as file:
        file.write("".join([*parts, "</body></html>\n"]).encode("utf-8", "replace"))
    return "report.html"


def _head(name: str, count: int) -> str:
    title = html.escape(name)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>Dataset {title}</title><style>{_STYLE}</style></head>"
        f"<body><h1>Dataset {title}</h1><p>{count} images</p>"
    )


def _table(title: str, rows: Counter[str] | dict[str, Any]) -> str:
    if not rows:
        return ""
    lines = "".join(
        f'<tr><td>{html.escape(str(name))}</td><td class="n">{value}</td></tr>' for name, value in sorted(rows.items())
    )
    return f"<h2>{html.escape(title)}</h2><table>{lines}</table>"


def _histogram(name: str, values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    step = (high - low) / _BARS or 1.0
    bars = Counter(min(_BARS - 1, int((value - low) / step)) for value in values)
    highest = max(bars.values())
    shapes = "".join(
        f'<rect x="{12 * index}" y="{80 - 80 * count / highest:.1f}" width="11" height="{80 * count / highest:.1f}"/>'
        for index, count in sorted(bars.items())
    )
    labels = f'<text x="0" y="94">{low:.0f}</text><text x="{12 * _BARS}" y="94" text-anchor="end">{high:.0f}</text>'
    return (
        f'<figure><svg viewBox="0 0 {12 * _BARS} 96" width="{12 * _BARS}" role="img" aria-label="{name}">'
        f"{shapes}{labels}</svg><figcaption>{name}</figcaption></figure>"
    )


async def _sheet(context: BuildContext, category: str, rows: Sequence[ImageRow], cache: ThumbnailCache) -> str:
    if not rows:
        return ""
    thumbnails = await cache.make(context, rows)
    pictures = "".join(
        f'<a href="{html.escape(row.url)}"><img alt="{html.escape(row.caption or category)}" loading="lazy"'
        f' src="data:image/jpeg;base64,{base64.b64encode(body).decode()}"></a>'
        for row, body in zip(rows, thumbnails, strict=True)
        if body
    )
    return f'<h2>{html.escape(category)}</h2><div class="sheet">{pictures}</div>'
